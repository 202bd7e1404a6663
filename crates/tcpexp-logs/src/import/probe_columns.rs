//! `tcp_probe` in columns: the output of `/proc/net/tcpprobe`, and a CSV with the same fields.

use tcpexp_units::TimeDelta;

use super::error::Unusable;
use super::fields::Field;
use super::flows::Flows;
use super::header::Header;
use super::rows::Batch;
use super::state::Probe;

/// A column by which the header is recognised.
pub(super) const COLUMNS: [&str; 1] = ["snd_cwnd"];

/// True if `text` is the header of the CSV.
pub(super) fn is_header(text: &str) -> bool {
    Header::is_one(text, &COLUMNS)
}

/// Reads one row of the CSV.
pub(super) fn row(
    text: &str,
    header: &Header,
    flows: &mut Flows,
    batch: &mut Batch,
) -> Result<(), Unusable> {
    let row = header.row(text)?;
    let field = |name| row.field(name);
    let ends = (field("src")?.endpoint()?, field("dst")?.endpoint()?);
    let probe = Probe {
        at: field("time")?.time()?,
        snd_nxt: field("snd_nxt")?.seq()?,
        snd_una: field("snd_una")?.seq()?,
        snd_cwnd: field("snd_cwnd")?.number()?,
        current_ssthresh: field("ssthresh")?.number()?,
        snd_wnd: field("snd_wnd")?.number()?,
        srtt: Some(TimeDelta::from_micros(
            field("srtt_us")?.number::<u32>()?.into(),
        )),
    };
    let stream = flows.sender(ends, None, batch);
    batch.samples.push(probe.sample(stream));
    Ok(())
}

/// Reads one line of `/proc/net/tcpprobe`: 11 columns, or 10 from before `rcv_wnd` (2013).
///
/// Time starts when the file was opened. The round-trip time is in jiffies up to Linux 3.15 and in
/// microseconds after; the file does not state which, so the round-trip time is left out.
pub(super) fn proc_line(text: &str, flows: &mut Flows, batch: &mut Batch) -> Result<(), Unusable> {
    let row: Vec<&str> = text.split_ascii_whitespace().collect();
    let &[
        at,
        src,
        dst,
        _length,
        nxt,
        una,
        cwnd,
        ssthresh,
        wnd,
        _srtt,
        ..,
    ] = row.as_slice()
    else {
        return Err(Unusable::OtherLayout);
    };
    // The pattern above also accepts more columns, which no version of the file has.
    if row.len() > 11 {
        return Err(Unusable::OtherLayout);
    }
    let ends = (
        Field::new("src", src).endpoint()?,
        Field::new("dst", dst).endpoint()?,
    );
    let probe = Probe {
        at: Field::new("time", at).time()?,
        snd_nxt: Field::new("snd_nxt", nxt).seq()?,
        snd_una: Field::new("snd_una", una).seq()?,
        snd_cwnd: Field::new("snd_cwnd", cwnd).number()?,
        current_ssthresh: Field::new("ssthresh", ssthresh).number()?,
        snd_wnd: Field::new("snd_wnd", wnd).number()?,
        srtt: None,
    };
    let stream = flows.sender(ends, None, batch);
    batch.samples.push(probe.sample(stream));
    Ok(())
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use crate::import::Format;
    use crate::import::log::rows_of;

    #[test]
    fn old_proc_file_has_ten_or_eleven_columns() {
        assert_snapshot!(rows_of(Format::TcpProbe, "
            1.000000123 10.0.0.1:4 10.0.0.2:5 1480 0x4424095 0x4420805 10 2147483647 65160 400 64512
            1.100000000 10.0.0.1:4 10.0.0.2:5 1480 0x4424095 0x4420806 12 9 65160 400
            1.2 10.0.0.1:4 10.0.0.2:5 1480
        "), @r"
        flow 0: 10.0.0.1:4 to 10.0.0.2:5
        1000000123 0 forward: una 71436293 nxt 71450773 flight 14480 cwnd 10 phase slow_start usable 50680
        1100000000 0 forward: una 71436294 nxt 71450773 flight 14479 cwnd 12 usable 50681
        1 line: not a line of this format
        ");
    }

    #[test]
    fn header_of_a_csv_names_its_columns() {
        assert_snapshot!(rows_of(Format::TcpProbe, "
            time,src,dst,snd_una,snd_nxt,more,snd_cwnd,ssthresh,snd_wnd,srtt_us
            1.5,10.0.0.1:4,10.0.0.2:5,4294967290,10,x,30,40,65160,40040
            1.6,10.0.0.1:4,10.0.0.2:5,4294967290
        "), @r"
        flow 0: 10.0.0.1:4 to 10.0.0.2:5
        1500000000 0 forward: una 4294967290 nxt 10 flight 16 cwnd 30 ssthresh 40 srtt 40.040 ms usable 65144
        1 line: snd_nxt is missing
        ");
    }

    #[test]
    fn decimal_comma_makes_a_row_unusable() {
        assert_snapshot!(rows_of(Format::TcpProbe, "
            time,src,dst,snd_nxt,snd_una,snd_cwnd,ssthresh,snd_wnd,srtt_us
            1.5,10.0.0.1:4,10.0.0.2:5,10,5,30,40,65160,40040
            1.6,10.0.0.1:4,10.0.0.2:5,10,5,1,5,40,65160,40040
        "), @r"
        flow 0: 10.0.0.1:4 to 10.0.0.2:5
        1500000000 0 forward: una 5 nxt 10 flight 5 cwnd 30 ssthresh 40 srtt 40.040 ms usable 65155
        1 line: a row with more columns than the header names
        ");
    }
}
