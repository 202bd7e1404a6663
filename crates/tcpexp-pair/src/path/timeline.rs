//! The timeline of the rows.

use tcpexp_units::TimeDelta;

use crate::spp::{PacketOutcome, Passing, PathDirection, Point, PointTimeline};

/// The timeline of the rows.
pub(super) enum Timeline {
    /// The timeline of the matching, with its clock offset corrected by this.
    Moved(TimeDelta),
    /// The timeline of the first of several points, by [`Point::index`](spp::Point::index).
    Along(Box<[PointTimeline; 2]>),
}

impl Timeline {
    /// Maps an outcome of the matching to this timeline.
    pub(super) fn settled(&self, outcome: PacketOutcome) -> PacketOutcome {
        match self {
            Self::Moved(moved) => moved_by(outcome, *moved),
            Self::Along(timelines) => placed(outcome, timelines),
        }
    }
}

fn moved_by(outcome: PacketOutcome, moved: TimeDelta) -> PacketOutcome {
    let at_dst = |passing: Passing| Passing {
        at: passing.at - moved,
        ..passing
    };
    match outcome.path_direction {
        PathDirection::Out => PacketOutcome {
            received: outcome.received.map(at_dst),
            one_way_delay: outcome.one_way_delay.map(|owd| owd - moved),
            ..outcome
        },
        PathDirection::Back => PacketOutcome {
            sent: outcome.sent.map(at_dst),
            one_way_delay: outcome.one_way_delay.map(|owd| owd + moved),
            ..outcome
        },
    }
}

fn placed(outcome: PacketOutcome, timelines: &[PointTimeline; 2]) -> PacketOutcome {
    let upstream = outcome.path_direction.upstream();
    let at = |point: Point, passing: Passing| Passing {
        at: timelines[point.index()].place(passing.record, passing.time),
        ..passing
    };
    let sent = outcome.sent.map(|passing| at(upstream, passing));
    let received = outcome
        .received
        .map(|passing| at(upstream.opposite(), passing));
    let delay = sent
        .zip(received)
        .map(|(sent, received)| received.at - sent.at);
    PacketOutcome {
        sent,
        received,
        // Without a delay before, a clock was set between the two records.
        one_way_delay: outcome.one_way_delay.and(delay),
        ..outcome
    }
}
