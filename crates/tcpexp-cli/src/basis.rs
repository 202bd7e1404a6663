//! What the reports of `rtt` and `path` share.

use tcpexp::{CaptureInfo, PathReport, PathSegment, RttReport, SegmentReport};
use tcpexp_pair::path::{CaptureLoss, PathTotals};
use tcpexp_pair::spp::{
    ClockModel, DirectionCounts, FlowSummary, Identification, Point, RttSample, Totals,
};
use tcpexp_units::{TimeDelta, counted};

/// Keeps two words on one line.
pub(crate) const NO_BREAK: &str = "\u{a0}";

/// The parts of a report that `rtt` and `path` share.
pub(crate) struct Basis<'a> {
    pub(crate) captures: &'a [CaptureInfo; 2],
    pub(crate) identification: &'a Identification,
    pub(crate) clock: &'a ClockModel,
    pub(crate) totals: &'a Totals,
    /// Fates of the packets, for `path`.
    pub(crate) path: Option<&'a PathTotals>,
    /// Names of the points, by [`Point::index`].
    pub(crate) points: [PointName; 2],
}

/// Name of a point in remarks.
pub(crate) struct PointName {
    /// In a sentence.
    pub(crate) full: String,
    /// In the narrow heading of a remark.
    pub(crate) short: String,
}

impl PointName {
    fn of_pair() -> [Self; 2] {
        Point::BOTH.map(|point| Self {
            full: point.to_string(),
            short: point.to_string(),
        })
    }

    /// `number` counts from 0.
    fn numbered(number: usize) -> Self {
        let short = (number + 1).to_string();
        Self {
            full: format!("point{NO_BREAK}{short}"),
            short,
        }
    }
}

impl Basis<'_> {
    /// Describes the packets that each capture missed, one line per capture.
    pub(crate) fn capture_loss(&self) -> Vec<String> {
        // `path` computes the fate of each packet; `rtt` computes only a lower limit of the missed
        // packets.
        if let Some(totals) = self.path {
            let losses = CaptureLoss::of(totals).into_iter();
            return losses
                .filter(CaptureLoss::is_shown)
                .map(|loss| loss.to_string())
                .collect();
        }
        let unseen = Point::BOTH.into_iter().zip(self.totals.unseen);
        let unseen = unseen.filter(|(_, packets)| *packets > 0);
        unseen
            .map(|(point, packets)| {
                let packets = counted(packets, "packet");
                format!("the capture at {point} missed at least {packets}, so packets absent from it are not necessarily lost")
            })
            .collect()
    }
}

impl<'a> Basis<'a> {
    /// The basis of a measurement between two of several points.
    pub(crate) fn of_segment(measured: &'a SegmentReport) -> Self {
        let PathSegment { from, to } = measured.segment;
        Self {
            points: [from, to].map(PointName::numbered),
            ..Self::from(&measured.report)
        }
    }

    pub(crate) fn point(&self, point: Point) -> &PointName {
        &self.points[point.index()]
    }
}

impl<'a> From<&'a RttReport> for Basis<'a> {
    fn from(report: &'a RttReport) -> Self {
        Self {
            captures: &report.captures,
            identification: &report.identification,
            clock: &report.clock,
            totals: &report.totals,
            path: None,
            points: PointName::of_pair(),
        }
    }
}

impl<'a> From<&'a PathReport> for Basis<'a> {
    fn from(report: &'a PathReport) -> Self {
        Self {
            captures: &report.captures,
            identification: &report.identification,
            clock: &report.clock,
            totals: &report.totals.totals,
            path: Some(&report.totals),
            points: PointName::of_pair(),
        }
    }
}

/// Sums over all flows.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) samples: u64,
    /// True if any round-trip time is not zero.
    pub(crate) took_time: bool,
    pub(crate) flows: u64,
    /// Forward and reverse.
    pub(crate) matched: [u64; 2],
    pub(crate) ambiguous: u64,
    /// Packets of `ambiguous` that equal another packet, captured or possibly missed, or that may have passed in
    /// another flow, with other sequence numbers, or at another time.
    pub(crate) equal: u64,
    /// True if `equal` includes packets of a flow without any matched packet. Their sequence numbers may have changed
    /// between the points.
    pub(crate) has_unmatched_flow: bool,
    /// Packets of `ambiguous` that may be retransmissions, because later packets overtook them.
    pub(crate) overtaken: u64,
    /// Of the `ambiguous` packets, those that the path fragmented: only the first fragment is read.
    pub(crate) fragmented: u64,
    pub(crate) copies: u64,
    pub(crate) outside: u64,
    pub(crate) unseen_upstream: u64,
    /// Packets never found downstream, whatever the reason.
    pub(crate) absent: u64,
}

impl Seen {
    pub(crate) fn add_samples(&mut self, samples: &[RttSample]) {
        self.samples += samples.len() as u64;
        self.took_time |= samples.iter().any(|sample| sample.rtt != TimeDelta::ZERO);
    }

    pub(crate) fn add_flow(&mut self, summary: &FlowSummary) {
        self.add_counts(&summary.counts);
    }

    /// Adds a flow with these counts of its directions.
    fn add_counts(&mut self, both: &[DirectionCounts; 2]) {
        self.flows += 1;
        for (matched, counts) in self.matched.iter_mut().zip(both) {
            *matched += counts.arrivals_matched;
        }
        let before = self.equal;
        for counts in both {
            self.add_ambiguous(counts);
            self.copies += counts.copies + counts.arrivals_copies;
            self.outside += counts.outside + counts.arrivals_outside;
            self.unseen_upstream += counts.unseen_upstream;
            self.absent += counts.not_found();
        }
        let has_match = both.iter().any(|one| one.arrivals_matched > 0);
        self.has_unmatched_flow |= !has_match && self.equal > before;
    }

    fn add_ambiguous(&mut self, counts: &DirectionCounts) {
        let overtaken = counts.arrivals_overtaken;
        let fragmented = counts.arrivals_fragmented;
        self.ambiguous += counts.ambiguous.max(counts.arrivals_ambiguous);
        self.overtaken += overtaken;
        self.fragmented += fragmented;
        // An overtaken arrival makes the departure that it equals ambiguous. A fragment makes none so.
        let arrived = counts.arrivals_ambiguous - overtaken - fragmented;
        self.equal += arrived.max(counts.ambiguous.saturating_sub(overtaken));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_without_a_match_is_a_reason_besides_equal_packets() {
        let seen = |arrivals_matched| {
            let mut seen = Seen::default();
            let counts = DirectionCounts {
                arrived: 5 + arrivals_matched,
                arrivals_matched,
                arrivals_ambiguous: 5,
                ..DirectionCounts::default()
            };
            seen.add_counts(&[counts, DirectionCounts::default()]);
            (seen.equal, seen.has_unmatched_flow)
        };
        assert_eq!(seen(0), (5, true));
        assert_eq!(seen(3), (5, false));
    }

    #[test]
    fn fragmented_arrivals_do_not_hide_indistinguishable_departures() {
        let mut seen = Seen::default();
        seen.add_ambiguous(&DirectionCounts {
            ambiguous: 5,
            arrivals_ambiguous: 5,
            arrivals_fragmented: 5,
            ..DirectionCounts::default()
        });
        assert_eq!((seen.equal, seen.fragmented), (5, 5));
    }
}
