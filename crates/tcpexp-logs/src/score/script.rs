//! Short ways to write sender records in tests.

use std::fmt::Write;

use tcpexp_flow::{Direction, FlowId, StreamOffset};
use tcpexp_measure::sender::{CwndSource, SenderSample};
use tcpexp_units::{TimeDelta, Timestamp};
use tcpexp_wire::SeqNum;

use super::record::SenderRecord;
use super::sum::{Options, Score};

/// A sample of a sender of 1448-byte segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row(SenderSample);

impl Row {
    pub(super) fn at(millis: i64) -> Self {
        let at = Timestamp::from_nanos(0) + TimeDelta::from_millis(millis);
        Self(SenderSample {
            smss_bytes: Some(1448),
            cwnd_source: CwndSource::Measured,
            ..SenderSample::unknown(at, FlowId(0), Direction::Forward)
        })
    }

    pub(super) fn seq(mut self, una: u32, nxt: u32) -> Self {
        let una = StreamOffset::first(SeqNum(una));
        self.0.snd_una = Some(una);
        self.0.snd_nxt = Some(una.nearest(SeqNum(nxt)));
        self.0.flight_size_bytes = u64::try_from(una.nearest(SeqNum(nxt)).since(una)).ok();
        self
    }

    pub(super) fn cwnd(mut self, segments: impl Into<Option<u32>>, source: CwndSource) -> Self {
        self.0.cwnd_segments = segments.into();
        self.0.cwnd_source = source;
        self
    }

    pub(super) fn srtt(mut self, millis: i64) -> Self {
        self.0.srtt = Some(TimeDelta::from_millis(millis));
        self
    }

    pub(super) fn rto(mut self, millis: i64) -> Self {
        self.0.rto = Some(TimeDelta::from_millis(millis));
        self
    }

    pub(super) fn sample(self) -> SenderSample {
        self.0
    }
}

pub(super) fn record(rows: &[Row]) -> SenderRecord {
    SenderRecord {
        samples: rows.iter().map(|row| row.0).collect(),
        ..SenderRecord::default()
    }
}

/// Formats the rows of one metric as text.
pub(super) fn rows(ours: &SenderRecord, truth: &SenderRecord, metric: &str) -> String {
    let score = Score::of(ours, truth, Options::default());
    let mut text = String::new();
    for row in score.rows().iter().filter(|row| row.metric == metric) {
        let number =
            |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.4}"));
        let _ = write!(
            text,
            "{} {}/{}: {}",
            row.subset,
            row.matched,
            row.truth,
            number(row.value)
        );
        if let Some(matched) = row.flight_size_matched {
            let naive = number(row.flight_size_value);
            let _ = write!(text, ", flight size {matched}/{}: {naive}", row.truth);
        }
        text.push('\n');
    }
    text
}
