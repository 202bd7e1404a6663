//! Infers the law by which a queue marks from the queueing delays of marked packets.
//!
//! A queue for L4S or DCTCP marks each packet whose own delay is above a low threshold (RFC 9332,
//! section 2.5; RFC 8257, section 3.1), so nearly all packets above it are marked. A classic queue marks
//! few packets, one at a time, and only once a queue has stood for some time (RFC 8289, section 3;
//! RFC 8033, section 4; RFC 2309), so most packets that wait as long are not marked.

use tcpexp_metrics::Quantiles;
use tcpexp_units::TimeDelta;
use tcpexp_wire::Ecn;

use super::packet::PathPacket;

/// Fewest marked packets from which a step is inferred. A queue that marks one packet in five marks half
/// of twenty with a probability of 0.3 %.
const MIN_MARKED_BY_STEP: u64 = 20;
/// Fewest marked packets from which a classic law is inferred: their smallest delay is compared with
/// [`CLASSIC_DELAY`].
const MIN_MARKED: u64 = 5;
/// Fewest packets that waited as long as the median marked packet and are not marked, for a classic law.
const MIN_UNMARKED: u64 = 40;
/// Share of the packets that waited as long as the median marked packet that a step marks at least. A
/// step marks all of them; half allows for delays after the queue.
const STEP_SHARE: f64 = 0.5;
/// Share that a classic queue marks at most: PIE drops above a probability of 10 % (RFC 8033, section
/// 5.1), and `CoDel` marks once per 100 ms at first; twice as much allows for bursts.
const CLASSIC_SHARE: f64 = 0.2;
/// Least delay of marked packets in a classic queue: below the lowest default target, 5 ms of `CoDel`,
/// and above the threshold of L4S queues, 1 ms (RFC 9332, section 2.5.1.1). A dual queue also marks L4S
/// packets with short delays when its classic queue is long.
const CLASSIC_DELAY: TimeDelta = TimeDelta::from_nanos(2_000_000);

/// Kind of a queue that marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MarkingLaw {
    /// Marks packets above a threshold of their own delay, with the identifier ECT(1) of L4S.
    L4s,
    /// Marks packets above a threshold of their own delay, with ECT(0), as for DCTCP.
    Step,
    /// Marks few packets of a standing queue (RFC 3168).
    Classic,
}

/// The marks of a queue and the delays at which it made them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Marking {
    /// The law; `None` if the marks fit none with certainty.
    pub law: Option<MarkingLaw>,
    /// Smallest queueing delay of a marked packet.
    pub min_delay: TimeDelta,
    /// Median queueing delay of the marked packets.
    pub median_delay: TimeDelta,
    /// Share of marked packets among those that waited at least `median_delay`.
    pub share_above: f64,
}

/// Counts of marks and ECN fields.
#[derive(Clone, Debug, Default)]
pub(super) struct MarkingTally {
    /// Queueing delays of the marked packets; boxed, because most directions have none.
    marked: Option<Box<Quantiles>>,
    /// Packets that left with ECT(1), with ECT(0), and with neither.
    sent: [u64; 3],
}

impl MarkingTally {
    /// Records an arrived packet with a queueing delay.
    pub(super) fn arrive(&mut self, packet: &PathPacket, delay: TimeDelta) {
        let place = match packet.sent_ecn {
            Some(Ecn::Ect1) => 0,
            Some(Ecn::Ect0) => 1,
            Some(Ecn::Ce | Ecn::NotEct) | None => 2,
        };
        self.sent[place] += 1;
        if packet.ce_marked == Some(true) {
            self.marked.get_or_insert_default().add(delay);
        }
    }

    /// Infers the law; `delays` are the queueing delays of all packets. `None` without marks.
    pub(super) fn close(mut self, delays: &mut Quantiles) -> Option<Marking> {
        let marked = self.marked.as_mut()?;
        let count = marked.count();
        let summary = marked.summary()?;
        let above = delays.count_from(summary.median);
        let marked_above = marked.count_from(summary.median);
        let share_above = marked_above as f64 / above as f64;
        let [ect1, ect0, other] = self.sent;
        // A packet without ECT is not marked whatever the law.
        let is_capable = other * 10 <= ect1 + ect0;
        let law = if !is_capable || count < MIN_MARKED {
            None
        } else if share_above >= STEP_SHARE && count >= MIN_MARKED_BY_STEP {
            Some(if ect1 > ect0 {
                MarkingLaw::L4s
            } else {
                MarkingLaw::Step
            })
        } else if share_above <= CLASSIC_SHARE
            && summary.min >= CLASSIC_DELAY
            && above - marked_above >= MIN_UNMARKED
        {
            Some(MarkingLaw::Classic)
        } else {
            None
        };
        Some(Marking {
            law,
            min_delay: summary.min,
            median_delay: summary.median,
            share_above,
        })
    }
}

impl MarkingLaw {
    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::L4s => "l4s",
            Self::Step => "step",
            Self::Classic => "classic",
        }
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_flow::{Direction, FlowId};

    use super::*;
    use crate::spp::{Fate, PathDirection};

    /// The law of a queue that delays a thousand packets by up to `longest_us`, and marks those for which
    /// `is_marked` is true of number and delay in microseconds.
    fn law(ecn: Ecn, longest_us: i64, is_marked: impl Fn(i64, i64) -> bool) -> Option<MarkingLaw> {
        let mut tally = MarkingTally::default();
        let mut delays = Quantiles::default();
        for number in 0..1_000 {
            let delay_us = number * 37 % longest_us;
            let delay = TimeDelta::from_nanos(delay_us * 1_000);
            let packet = PathPacket {
                flow: FlowId(0),
                direction: Direction::Forward,
                path_direction: PathDirection::Out,
                fate: Fate::Delivered,
                number: None,
                sent_record: None,
                received_record: None,
                sent_at: None,
                received_at: None,
                one_way_delay: None,
                queueing_delay: Some(delay),
                one_way_delay_error: None,
                queueing_delay_error: None,
                ce_marked: Some(is_marked(number, delay_us)),
                sent_ecn: Some(ecn),
                reordered: None,
                reordering_extent_packets: None,
                packets: 1,
                payload_bytes: 1_448,
                ip_bytes: 1_500,
            };
            tally.arrive(&packet, delay);
            delays.add(delay);
        }
        tally.close(&mut delays)?.law
    }

    #[test]
    fn law_follows_from_the_share_of_marked_packets_above_a_delay() {
        let step = |_, delay_us| delay_us > 1_000;
        assert_eq!(law(Ecn::Ect1, 3_000, step), Some(MarkingLaw::L4s));
        assert_eq!(law(Ecn::Ect0, 3_000, step), Some(MarkingLaw::Step));
        let ramp = |number, delay_us| delay_us > 500 + number % 1_000;
        assert_eq!(law(Ecn::Ect1, 3_000, ramp), Some(MarkingLaw::L4s));
        let sparse = |number, delay_us| delay_us > 5_000 && number % 30 == 0;
        assert_eq!(law(Ecn::Ect0, 40_000, sparse), Some(MarkingLaw::Classic));
    }

    #[test]
    fn marks_that_fit_several_laws_give_no_law() {
        let third = |number, delay_us| delay_us > 5_000 && number % 3 == 0;
        assert_eq!(law(Ecn::Ect0, 40_000, third), None);
        // A dual queue marks L4S packets with short delays while its classic queue is long.
        let coupled = |number, _| number % 10 == 0;
        assert_eq!(law(Ecn::Ect1, 1_000, coupled), None);
        let few = |number, delay_us| delay_us > 5_000 && number % 300 == 0;
        assert_eq!(law(Ecn::Ect0, 40_000, few), None);
        assert_eq!(law(Ecn::Ect0, 40_000, |_, _| false), None);
        assert_eq!(
            law(Ecn::NotEct, 3_000, |_, delay_us| delay_us > 1_000),
            None
        );
    }
}
