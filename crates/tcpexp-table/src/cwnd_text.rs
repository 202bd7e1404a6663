//! Reconstructed senders as text for a terminal.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::fast::FixedState;
use tcpexp_flow::{Direction, FlowId};
use tcpexp_measure::Position;
use tcpexp_measure::naming::Named;
use tcpexp_measure::sender::{
    CwndSource, EarlierCopy, LostPackets, RecoveryKind, SenderRow, SenderSample, SenderSummary,
};
use tcpexp_metrics::Quantiles;
use tcpexp_units::{TimeDelta, Timestamp};

use crate::by_flow::{OfFlow, by_flow};
use crate::cells::{self, NO_VALUE, Unit, count, number, percent};
use crate::control_text::{likely_control, named_control};
use crate::distribution::Distribution;
use crate::import_text::row;
use crate::labels::{Labelled, SenderLabel};
use crate::lost_text::lost_packets;
use crate::order::{Order, longest, ordered};
use crate::remark::remark;
use crate::text::FLOW_TABLE_WIDTH;
use crate::top::Top;

/// Summarizes reconstructed senders.
#[derive(Clone, Debug)]
pub struct CwndTable {
    /// Capture position given by the user, for all captures.
    position: Option<Position>,
    going_on: HashMap<(FlowId, Direction), Sender, FixedState>,
    over: Top<Over>,
    acks: u64,
}

/// Running totals of one sender.
#[derive(Clone, Debug, Default)]
struct Sender {
    acks: u64,
    times: Option<(Timestamp, Timestamp)>,
    cwnd: Distribution,
    ssthresh: Distribution,
    srtt: Quantiles,
    sources: BTreeMap<CwndSource, u64>,
    recoveries: BTreeMap<RecoveryKind, u64>,
    undone: u64,
    /// Recoveries in which no packet was lost.
    spurious: u64,
    /// Retransmissions by the fate of the earlier packet, where the fate is known.
    retransmitted: BTreeMap<EarlierCopy, u64>,
    /// The congestion control, if it was to be named.
    named: Option<Named>,
}

/// A sender whose flow has ended.
#[derive(Clone, Debug)]
struct Over {
    label: Arc<SenderLabel>,
    sender: Sender,
    summary: SenderSummary,
}

/// Orders of the senders.
const ORDERS: [Order<Over>; 4] = [
    Order {
        name: ("acks", "ACKs that the sender got, most first"),
        key: |over| Some(over.sender.acks),
    },
    Order {
        name: ("recoveries", "Loss recoveries, most first"),
        key: |over| Some(over.sender.recoveries.values().sum()),
    },
    Order {
        name: (
            "duration",
            "Time from the first to the last ACK, longest first",
        ),
        key: |over| {
            longest(
                over.sender
                    .times
                    .into_iter()
                    .map(|(first, last)| last - first),
            )
        },
    },
    Order {
        name: (
            "number",
            "The number of the flow, which is the order of first appearance",
        ),
        key: |over| Some(u64::MAX - u64::from(over.label.flow.0)),
    },
];

ordered!(CwndTable, over, ORDERS);

impl CwndTable {
    /// Shows at most `most` senders. `position` is the capture position that the user gave for all
    /// captures.
    pub fn new(most: usize, position: Option<Position>) -> Self {
        Self {
            position,
            going_on: HashMap::default(),
            over: Top::new(most, |over| (over.sender.acks, over.label.flow.0)),
            acks: 0,
        }
    }

    /// Adds a row.
    pub fn add(&mut self, row: &Labelled<SenderRow, SenderLabel>) {
        match &row.row {
            SenderRow::Sample(sample) => {
                self.acks += 1;
                self.sender(sample.flow, sample.direction).add(sample);
            }
            SenderRow::Recovery(epoch) => {
                let sender = self.sender(epoch.flow, epoch.direction);
                *sender.recoveries.entry(epoch.kind).or_default() += 1;
                sender.undone += u64::from(epoch.was_undone);
                let lost = epoch.lost.and_then(LostPackets::exact);
                sender.spurious += u64::from(lost == Some(0));
            }
            SenderRow::Retransmission(retransmitted) => {
                if let Some(copy) = retransmitted.earlier_copy {
                    let sender = self.sender(retransmitted.flow, retransmitted.direction);
                    *sender.retransmitted.entry(copy).or_default() += 1;
                }
            }
            SenderRow::Summary(summary) => {
                let key = (summary.flow, summary.direction);
                self.over.add(Over {
                    label: Arc::clone(&row.flow),
                    // A sender without a captured ACK has a summary but no samples.
                    sender: self.going_on.remove(&key).unwrap_or_default(),
                    summary: *summary,
                });
            }
        }
    }

    /// Adds the name of a sender's congestion control, before the summary of the sender.
    pub fn name(&mut self, named: Named) {
        let key = (named.flow, named.direction);
        self.sender(key.0, key.1).named = Some(named);
    }

    /// Number of ACKs added so far.
    pub const fn acks(&self) -> u64 {
        self.acks
    }

    fn sender(&mut self, flow: FlowId, direction: Direction) -> &mut Sender {
        self.going_on.entry((flow, direction)).or_default()
    }

    /// Formats the table for a terminal of `width` columns, at least 80.
    ///
    /// The senders with the most ACKs come first; one line sums up the rest.
    pub fn into_text(self, width: usize) -> String {
        let width = width.max(FLOW_TABLE_WIDTH);
        let lines = |over: &Over, srtt, unit: &Unit| {
            let mut lines = vec![over.numbers(srtt, unit)];
            for (heading, what) in over.remarks(self.position) {
                lines.extend(remark(heading, &what, width));
            }
            lines
        };
        by_flow(self.over, header, lines, ["more sender", "ACK"], width)
    }
}

impl Sender {
    fn add(&mut self, sample: &SenderSample) {
        self.acks += 1;
        let (first, last) = self.times.get_or_insert((sample.at, sample.at));
        *first = (*first).min(sample.at);
        *last = (*last).max(sample.at);
        *self.sources.entry(sample.cwnd_source).or_default() += 1;
        if let Some(cwnd) = sample.cwnd_segments {
            self.cwnd.add(cwnd);
        }
        if let Some(ssthresh) = sample.ssthresh_segments {
            self.ssthresh.add(ssthresh);
        }
        if let Some(srtt) = sample.srtt {
            self.srtt.add(srtt);
        }
    }

    fn span(&self) -> Option<TimeDelta> {
        self.times.map(|(first, last)| last - first)
    }
}

impl OfFlow for Over {
    fn label(&self) -> &SenderLabel {
        &self.label
    }

    fn srtts(&mut self) -> &mut Quantiles {
        &mut self.sender.srtt
    }
}

impl Over {
    fn numbers(&self, srtt: Option<TimeDelta>, unit: &Unit) -> String {
        let sender = &self.sender;
        let [p25, median, p75] = [25, 50, 75].map(|share| number(sender.cwnd.quantile(share)));
        row(
            self.summary.direction.name(),
            [
                count(sender.acks, 9),
                sender
                    .span()
                    .map_or(NO_VALUE.to_owned(), |span| cells::span(span, 8)),
                p25,
                median,
                p75,
                number(sender.ssthresh.quantile(50)),
                srtt.map_or(NO_VALUE.to_owned(), |srtt| unit.show(srtt)),
                count(self.summary.retransmitted, 6),
                count(self.summary.recoveries.into(), 6),
            ],
        )
    }

    fn remarks(&self, position: Option<Position>) -> Vec<(&'static str, String)> {
        let mut remarks = vec![
            ("captured", self.captured(position)),
            ("window", self.window()),
        ];
        if let Some(recoveries) = self.recoveries() {
            remarks.push(("recoveries", recoveries));
        }
        remarks.extend(self.lost().map(|lost| ("lost", lost)));
        remarks.extend(self.limited().map(|limited| ("busy", limited)));
        let control = match &self.sender.named {
            Some(named) => named_control(named),
            None => likely_control(&self.summary.hint, self.summary.model_window_segments),
        };
        remarks.push(("control", control));
        remarks
    }

    fn captured(&self, said: Option<Position>) -> String {
        let at = |position| match position {
            Position::Sender => "at the sender",
            Position::Receiver => "at the receiver",
            Position::Between => "between sender and receiver",
        };
        let place = match (said, self.summary.position) {
            (Some(said), _) => format!("{}, as given", at(said)),
            (None, Some(found)) => at(found).to_owned(),
            (None, None) => "at an unknown position, assumed at the sender".to_owned(),
        };
        let sack = if self.summary.has_sack {
            ""
        } else {
            ", without SACK"
        };
        match self.summary.smss_bytes {
            Some(bytes) => format!("{place}; segments of {bytes} bytes{sack}"),
            None => format!("{place}; segments of unknown size{sack}"),
        }
    }

    /// The sources of the congestion window, by share of the ACKs.
    fn window(&self) -> String {
        let mut sources: Vec<_> = self.sender.sources.iter().collect();
        sources.sort_by_key(|(source, acks)| (std::cmp::Reverse(**acks), **source));
        let shares: Vec<String> = sources
            .into_iter()
            .enumerate()
            .map(|(place, (source, acks))| {
                let part = share(*acks, self.sender.acks);
                let of = if place == 0 { " of the ACKs" } else { "" };
                let words = match source {
                    CwndSource::WarmUp => "during warm-up".to_owned(),
                    source => source.name().replace('_', " "),
                };
                format!("{part}{of} {words}")
            })
            .collect();
        if shares.is_empty() {
            return "no ACK was captured".to_owned();
        }
        shares.join(", ")
    }

    fn recoveries(&self) -> Option<String> {
        let of = |kind| self.sender.recoveries.get(&kind).copied().unwrap_or(0);
        let mut parts: Vec<String> = [
            (of(RecoveryKind::Fast), "fast"),
            (of(RecoveryKind::Timeout), "after a timeout"),
            (of(RecoveryKind::CongestionEcho), "after congestion echoes"),
        ]
        .into_iter()
        .filter(|(recoveries, _)| *recoveries > 0)
        .map(|(recoveries, what)| format!("{recoveries} {what}"))
        .collect();
        if self.sender.undone > 0 {
            parts.push(format!("{} of them undone", self.sender.undone));
        }
        if self.sender.spurious > 0 {
            parts.push(format!("{} without a loss", self.sender.spurious));
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Packets lost on the path, and retransmissions by the fate of the earlier packet: lost,
    /// overtaken or arrived.
    fn lost(&self) -> Option<String> {
        let lost = self.summary.lost?;
        let mut parts = vec![format!("{} on the path", lost_packets(lost))];
        for (copy, what) in [
            (EarlierCopy::Lost, "retransmitted after a loss"),
            (EarlierCopy::Overtaken, "although only overtaken"),
            (EarlierCopy::Arrived, "although it had arrived"),
        ] {
            if let Some(times) = self.sender.retransmitted.get(&copy) {
                parts.push(format!("{} {what}", count(*times, usize::MAX)));
            }
        }
        Some(parts.join(", "))
    }

    fn limited(&self) -> Option<String> {
        let limited = &self.summary.limited;
        let nanos = |span: TimeDelta| u64::try_from(span.as_nanos()).unwrap_or(0);
        let busy_span = limited.busy?;
        let busy = nanos(busy_span);
        if busy == 0 {
            return None;
        }
        let span = self.sender.span().map_or(0, nanos);
        // The sender is busy before its first ACK too, so a short flow may be busy longer than the
        // span of its ACKs.
        let of_span = if span >= busy {
            format!(", {} of the span", share(busy, span))
        } else {
            String::new()
        };
        let of_busy = |time: Option<TimeDelta>| {
            time.map_or_else(|| NO_VALUE.to_owned(), |time| share(nanos(time), busy))
        };
        let [by_window, by_receiver] =
            [limited.congestion_window, limited.receiver_window].map(of_busy);
        Some(format!(
            "{busy_span:.1}{of_span}; cwnd-limited {by_window}, rwnd-limited {by_receiver}"
        ))
    }
}

fn share(part: u64, whole: u64) -> String {
    percent(part, whole).unwrap_or(NO_VALUE.to_owned())
}

fn header(unit: &Unit) -> String {
    let cells = [
        "ACKs", "span", "cwnd p25", "median", "p75", "ssthresh", "SRTT", "retr.", "recov.",
    ];
    row(&format!("segs, {}", unit.name), cells.map(str::to_owned))
}
