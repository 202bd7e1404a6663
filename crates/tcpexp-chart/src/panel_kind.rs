//! Kinds of panels over time, and the tables that they come from.

use std::str::FromStr;

use tcpexp_table::QUEUE_KEYS;

use crate::flow_line::{self, FLOW_COLUMNS, SERIES_COLUMNS, TIMES};

/// The quantity of a time series panel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PanelKind {
    /// Round-trip times.
    Rtt,
    /// One-way delays.
    Owd,
    /// Backlog of a queue, or queueing delays of packets.
    Queue,
    /// Rates.
    Throughput,
    /// Congestion windows with slow start thresholds, flight sizes and recoveries.
    Cwnd,
    /// A column of any table.
    Column(String),
}

impl FromStr for PanelKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::NAMED.into_iter().find(|kind| kind.name() == text);
        match named {
            Some(kind) => Ok(kind),
            None if text.is_empty() => Err("a panel is rtt, cwnd, … or a column".to_owned()),
            None => Ok(Self::Column(text.to_owned())),
        }
    }
}

impl PanelKind {
    /// The panels with a name of their own, in the default drawing order.
    pub const NAMED: [Self; 5] = [
        Self::Cwnd,
        Self::Rtt,
        Self::Throughput,
        Self::Queue,
        Self::Owd,
    ];

    /// Name of the panel.
    pub fn name(&self) -> &str {
        match self {
            Self::Rtt => "rtt",
            Self::Owd => "owd",
            Self::Queue => "queue",
            Self::Throughput => "throughput",
            Self::Cwnd => "cwnd",
            Self::Column(column) => column,
        }
    }

    /// The tables with the quantity and the column in each, in order of preference.
    pub fn sources(&self) -> Vec<(Option<&'static str>, String)> {
        let of = |sources: &[(&'static str, &str)]| {
            let owned = sources
                .iter()
                .map(|(table, column)| (Some(*table), (*column).to_owned()));
            owned.collect()
        };
        match self {
            Self::Rtt => of(&[("rtt", "rtt_ns")]),
            Self::Owd => of(&[("owd", "owd_ns"), ("owd", "one_way_delay_ns")]),
            Self::Queue => of(&[
                ("queue", "backlog_packets"),
                ("queue", "queueing_delay_max_ns"),
                ("owd", "queueing_delay_ns"),
            ]),
            Self::Throughput => of(&[("throughput", "goodput_bps")]),
            Self::Cwnd => of(&[("sender", "cwnd_segments"), ("logs", "cwnd_segments")]),
            Self::Column(column) => vec![(None, column.clone())],
        }
    }

    /// True for rates, which are means over bins.
    pub fn is_rate(&self) -> bool {
        let (Self::Throughput | Self::Column(_)) = self else {
            return false;
        };
        let mut sources = self.sources().into_iter();
        sources.any(|(_, column)| flow_line::is_rate(&column))
    }

    /// Columns that the panels use if a table has them.
    pub fn optional_columns() -> Vec<String> {
        const MORE: [&str; 10] = [
            "way",
            "reference",
            "method",
            "ssthresh_segments",
            "flight_size_bytes",
            "smss_bytes",
            "cwnd_source",
            "source",
            "width_ns",
            "covered_ns",
        ];
        let all = FLOW_COLUMNS.into_iter().chain(TIMES).chain(MORE);
        let all = all.chain([SERIES_COLUMNS[1]]);
        let all = all.chain(QUEUE_KEYS.into_iter().filter(|key| *key != "file"));
        all.map(str::to_owned).collect()
    }
}
