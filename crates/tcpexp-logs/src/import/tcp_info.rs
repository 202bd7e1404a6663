//! `TCP_INFO` polled by the sending application, as CSV.
//!
//! One connection per file, since the rows name no endpoints.

use tcpexp_flow::Direction;
use tcpexp_measure::sender::SenderSample;
use tcpexp_units::TimeDelta;

use super::error::{LineUse, Unusable};
use super::flows::Flows;
use super::header::{Header, Row};
use super::rows::{Batch, CongestionState, SenderCounters};
use super::state::{blank, finite, phase};

/// The columns without a header, in order: the time of the call in seconds, then fields of the kernel's
/// `struct tcp_info` under their own names, with times in microseconds.
pub(super) const COLUMNS: [&str; 16] = [
    "time",
    "ca_state",
    "rto",
    "unacked",
    "sacked",
    "lost",
    "retrans",
    "rtt",
    "snd_ssthresh",
    "snd_cwnd",
    "total_retrans",
    "busy_time",
    "rwnd_limited",
    "sndbuf_limited",
    "app_limited",
    "retransmits",
];

/// The columns: those of the header, or [`COLUMNS`] without one.
#[derive(Clone, Debug)]
pub(super) struct TcpInfo {
    columns: Header,
    has_header: bool,
    /// True after the first row.
    has_rows: bool,
}

impl Default for TcpInfo {
    fn default() -> Self {
        Self {
            columns: Header::of(&COLUMNS.join(",")),
            has_header: false,
            has_rows: false,
        }
    }
}

impl TcpInfo {
    /// Reads one line.
    pub(super) fn line(
        &mut self,
        text: &str,
        flows: &mut Flows,
        batch: &mut Batch,
    ) -> Result<LineUse, Unusable> {
        // Below a header that is not recognised, the rows would be read by the places of other columns.
        let is_header =
            Header::is_one(text, &COLUMNS) || !self.has_rows && Header::may_be_one(text);
        if is_header {
            self.columns = Header::of(text);
            self.has_header = true;
            return if self.columns.has(COLUMNS[0]) {
                Ok(LineUse::PassedOver)
            } else {
                Err(Unusable::NoTime)
            };
        }
        let row = self.columns.row(text);
        let row = row.map_err(|reason| match reason {
            Unusable::LongRow if !self.has_header => Unusable::OtherLayout,
            reason => reason,
        })?;
        if row.is_cut() {
            return Err(Unusable::OtherLayout);
        }
        poll(&row, flows, batch)?;
        self.has_rows = true;
        Ok(LineUse::Used)
    }
}

/// Reads one row.
///
/// Unlike in `tcp_probe`, `snd_ssthresh` is the threshold itself. The kernel counts the segments in
/// flight as `unacked - sacked - lost + retrans`.
fn poll(row: &Row<'_>, flows: &mut Flows, batch: &mut Batch) -> Result<(), Unusable> {
    let field = |name| row.field(name);
    let at = field("time")?.time()?;
    let number = |name| field(name)?.number::<u32>();
    let state = CongestionState::numbered(field("ca_state")?.number()?)
        .ok_or(Unusable::Unreadable("ca_state"))?;
    let (snd_cwnd, snd_ssthresh) = (number("snd_cwnd")?, number("snd_ssthresh")?);
    let outstanding = i64::from(number("unacked")?) + i64::from(number("retrans")?);
    let pipe = outstanding - i64::from(number("sacked")?) - i64::from(number("lost")?);
    let (rtt, rto) = (field("rtt")?.micros()?, field("rto")?.micros()?);
    let total_retrans = number("total_retrans")?;
    let time = |name| field(name)?.micros().map(Some);
    let (busy, receiver_limited, send_buffer_limited) = (
        time("busy_time")?,
        time("rwnd_limited")?,
        time("sndbuf_limited")?,
    );

    let stream = flows.unnamed(batch);
    // The sample below has the epoch of the state that this poll observes.
    batch.state_changes.extend(stream.observe(at, state));
    batch.samples.push(SenderSample {
        pipe_segments: u32::try_from(pipe).ok(),
        cwnd_segments: Some(snd_cwnd),
        ssthresh_segments: finite(snd_ssthresh),
        phase: phase(snd_ssthresh, snd_cwnd, Some(state)),
        recovery_epoch: stream.recovery_epoch(),
        // The kernel reports 0 until the first measurement.
        srtt: Some(rtt).filter(|rtt| *rtt > TimeDelta::ZERO),
        rto: Some(rto),
        ..blank(stream, at)
    });
    batch.counters.push(SenderCounters {
        at,
        flow: stream.flow,
        direction: Direction::Forward,
        retransmitted_segments: Some(total_retrans.into()),
        busy,
        receiver_limited,
        send_buffer_limited,
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::COLUMNS;
    use crate::import::log::{lines, read, rows_of};
    use crate::import::{Error, Format, import};

    const LOG: &str = "
        12.5,0,244000,10,0,0,0,41883,2147483647,10,0,4000,0,0,1,0
        12.6,3,248000,20,5,2,1,41883,14,20,2,8000,1000,0,0,0
        12.7,0,248000,20
        12.8,0,248,000,20,5,2,1,41883,14,20,2,8000,1000,0,0,0
    ";

    #[test]
    fn polled_state_has_no_endpoints_and_no_sequence_numbers() {
        assert_snapshot!(rows_of(Format::TcpInfo, LOG), @r"
        flow 0: ? to ?
        12500000000 0 forward: pipe 10 cwnd 10 phase slow_start srtt 41.883 ms rto 244.000 ms
        12600000000 0 forward: pipe 14 cwnd 20 ssthresh 14 phase fast_recovery epoch 0 srtt 41.883 ms rto 248.000 ms
        2 lines: not a line of this format
        ");
    }

    #[test]
    fn header_names_the_columns() {
        let known: Vec<_> = COLUMNS.into_iter().rev().collect();
        let values = "12.5,0,244000,10,0,0,0,41883,2147483647,10,0,4000,0,0,1,0";
        let values: Vec<_> = values.split(',').rev().collect();
        let log = format!("time_zone,{}\nutc,{}\n", known.join(","), values.join(","));
        assert_snapshot!(rows_of(Format::TcpInfo, &log), @r"
        flow 0: ? to ?
        12500000000 0 forward: pipe 10 cwnd 10 phase slow_start srtt 41.883 ms rto 244.000 ms
        ");
        let log = "
            time,rtt,rto,cwnd
            12.5,41883,244000,10
        ";
        let refused = import(Format::TcpInfo, lines(log).as_bytes(), |_| {
            Ok::<_, Error>(())
        });
        assert_snapshot!(refused.unwrap_err(), @"none of 2 lines can be used; line 2: ca_state is missing");
    }

    const ROW: [&str; 16] = [
        "12.5",
        "0",
        "244000",
        "10",
        "0",
        "0",
        "0",
        "41883",
        "2147483647",
        "10",
        "0",
        "4000",
        "0",
        "0",
        "1",
        "0",
    ];

    /// A log whose columns are in the reverse order of [`COLUMNS`], with their names changed.
    fn reversed(change: impl Fn(&str) -> String) -> String {
        let names: Vec<_> = COLUMNS.into_iter().rev().map(change).collect();
        let row: Vec<_> = ROW.into_iter().rev().collect();
        format!("{}\n{}\n", names.join(","), row.join(","))
    }

    #[test]
    fn header_is_recognised_by_any_name_in_any_case() {
        let known = rows_of(Format::TcpInfo, &reversed(str::to_owned));
        assert!(
            known.contains("cwnd 10 phase slow_start srtt 41.883 ms"),
            "{known}"
        );
        for log in [
            reversed(str::to_uppercase),
            reversed(|name| format!("\"TCPI_{name}\"")),
            format!("# {}", reversed(str::to_owned)),
        ] {
            assert_eq!(rows_of(Format::TcpInfo, &log), known);
        }
    }

    #[test]
    fn rows_below_a_header_without_a_time_are_refused() {
        for log in [
            reversed(|name| name.replace("time", "clock")),
            reversed(|name| format!("my_{name}")),
        ] {
            let refused = import(Format::TcpInfo, log.as_bytes(), |_| Ok::<_, Error>(()));
            assert_eq!(
                refused.unwrap_err().to_string(),
                "none of 2 lines can be used; line 1: a header without a column for the time"
            );
        }
    }

    #[test]
    fn polled_state_includes_totals_and_state_changes() {
        let (batch, _) = read(Format::TcpInfo, &lines(LOG));
        let states: Vec<_> = batch
            .state_changes
            .iter()
            .map(|change| change.state.name())
            .collect();
        assert_eq!(states, ["open", "recovery"]);
        let last = batch.counters.last().unwrap();
        assert_eq!(last.retransmitted_segments, Some(2));
        assert_eq!(last.receiver_limited.unwrap().as_nanos(), 1_000_000);
    }
}
