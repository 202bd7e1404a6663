//! Rates of the data that arrived, in place of the data that was sent.

use tcpexp_table::{Frame, Series};
use tcpexp_units::{ByteCount, TimeDelta};

/// Unique payload per time, at the capture of the flow's first point.
const GOODPUT: &str = "goodput_bps";
/// The same at the other point, where the payload arrives.
const ARRIVED_GOODPUT: &str = "arrived_goodput_bps";
/// IP bytes per time, at the capture of the flow's first point.
const THROUGHPUT: &str = "throughput_bps";
/// The bytes and the time, in nanoseconds, of the same at the other point.
const ARRIVED_BYTES: [&str; 2] = ["arrived_ip_bytes", "arrived_span_ns"];

/// The columns from which [`take_arrived`] replaces `column`.
pub(super) fn arrived_columns(column: &str) -> &'static [&'static str] {
    match column {
        GOODPUT => &[ARRIVED_GOODPUT],
        THROUGHPUT => &ARRIVED_BYTES,
        _ => &[],
    }
}

/// Replaces a rate of flows by the rate at the receiving point, if the rows have it: data that was sent and
/// never arrived is not goodput (RFC 2647, section 3.17). `tcpexp compare` uses the same rule.
pub(super) fn take_arrived(frame: &mut Frame, column: &str) {
    let arrived = match column {
        GOODPUT => frame.column(ARRIVED_GOODPUT).cloned(),
        THROUGHPUT => arrived_throughput(frame),
        _ => None,
    };
    if let Some(arrived) = arrived
        && (0..frame.rows()).any(|row| arrived.number(row).is_some())
    {
        frame.set(column, arrived);
    }
}

/// IP bytes that arrived over the time in which they arrived, in bits per second, rounded down.
fn arrived_throughput(frame: &Frame) -> Option<Series> {
    let [bytes, nanos] = ARRIVED_BYTES.map(|name| frame.column(name));
    let (bytes, nanos) = (bytes?, nanos?);
    let rate = |row: usize| {
        let bytes = ByteCount::new(u64::try_from(bytes.whole(row)?).ok()?);
        // A flow of one packet has no duration, and so no rate.
        let rate = bytes.rate_over(TimeDelta::from_nanos(nanos.whole(row)?))?;
        i64::try_from(rate.as_bps()).ok()
    };
    Some(Series::Whole((0..frame.rows()).map(rate).collect()))
}

#[cfg(test)]
mod tests {
    use super::super::Selection;
    use super::super::tests::{folder, goodputs};

    #[test]
    fn goodput_is_that_of_the_payload_that_arrived_if_known() {
        for (arrived, expected) in [
            (["800", "0", ""], [Some(800), Some(0), None]),
            (["", "", ""], [Some(900), Some(700), Some(50)]),
        ] {
            let [a, b, c] = arrived;
            let flows = format!(
                "flow_id,direction,goodput_bps,arrived_goodput_bps\n\
                0,forward,900,{a}\n1,forward,700,{b}\n2,forward,50,{c}\n"
            );
            let (_dir, tables) = folder(&[("flows", &flows)]);
            let rows = Selection::of(tables).grouped("goodput", &[], &[], &[]);
            assert_eq!(goodputs(&rows.unwrap().frame), expected);
        }
    }

    #[test]
    fn throughput_of_flows_is_that_of_the_data_that_arrived_if_known() {
        let flows = "flow_id,direction,throughput_bps,arrived_ip_bytes,arrived_span_ns\n\
            0,forward,900,100,1000000000\n1,forward,700,1,0\n2,forward,50,,\n";
        let (_dir, tables) = folder(&[("flows", flows)]);
        let rows = Selection::of(tables).grouped("throughput", &[], &["flows"], &[]);
        let rows = rows.unwrap();
        let column = rows.frame.column("throughput_bps").unwrap();
        let rates: Vec<_> = (0..3).map(|row| column.whole(row)).collect();
        assert_eq!(rates, [Some(800), None, None]);
    }
}
