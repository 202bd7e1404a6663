//! The verdict on a sender, and the thresholds behind it.
//!
//! The thresholds were chosen on 50 transfers of ten causes between Linux hosts in the lab, with Reno,
//! CUBIC and BBR, 3 to 30 Mbit/s and round-trip times of 20 to 200 ms, and on simulated transfers.
//! Other transfers scored them; see the guide.

use tcpexp_flow::{Direction, FlowId};
use tcpexp_metrics::quantile::whole_median;
use tcpexp_units::{TimeDelta, Timestamp};

use super::cause::LimitCause;
use super::growth::Growth;
use super::limits::Limits;
use super::losses::{Loss, apart, goodputs, spread_percent};
use super::opening::Opening;
use super::queue::Queue;
use super::rounds::Round;
use super::rtt_growth::rtt_growth_percent;
use crate::Position;
use crate::sender::LostPackets;

/// A cause that takes at least this share of the time, in percent, is the main cause. Below half, the
/// other causes together would have taken longer.
const MAIN_PERCENT: i64 = 50;
/// The queue is the sender's own if the round-trip time follows at least this share of the growth of
/// the bytes in flight, in percent. Measured: 66 to 106 % in own queues.
const OWN_PERCENT: i64 = 50;
/// Beyond this share, the round-trip time grows faster than a queue of the sender alone can explain.
const MOST_OWN_PERCENT: i64 = 150;
/// Minimum number of losses with a queue for a full judgement: two cycles of the window. While all
/// flows of a queue grow for the first time, the queue of others grows with the own flight.
const MIN_CYCLES: u64 = 3;
/// With fewer losses, the queue is the sender's own from this share on. Measured: 91 to 107 %.
const OWN_PERCENT_AT_FIRST: i64 = 75;
/// The queue belongs to others if the round-trip time follows at most this share of the growth.
/// Measured: 3 to 15 %.
const OTHERS_PERCENT: i64 = 30;
/// Smallest queueing delay of a queue of others, in percent of the base round-trip time. Measured: 14
/// to 25 %, because the flow never sees this queue empty. Delayed ACKs may look the same as a shorter
/// queueing delay.
const OTHERS_QUEUE_PERCENT: i64 = 10;
/// Smallest queueing delay of a queue of others. A managed queue of the sender's own stays near its
/// target, 5 ms in `CoDel` (RFC 8289). Measured: up to 8 ms.
const OTHERS_QUEUE_DELAY: TimeDelta = TimeDelta::from_millis(10);
/// The goodput between losses is constant if its middle half spans at most this share of its median,
/// in percent: the rate of a policer, or the capacity of the path. Measured: 0 to 9 % with policers (but 21
/// and 39 % with eight and nine losses), 0 to 1 % with a short queue, from 20 % on with losses at random, and
/// from 48 % on in queues of others.
const CONSTANT_PERCENT: i64 = 14;
/// Losses are random if the middle half of the goodput between losses spans at least this share of its
/// median, in percent. Measured: 20 to 109 %, all but one from 25 % on.
const RANDOM_PERCENT: i64 = 24;

/// Time that two lost SYNs cost at least: one second, then two (RFC 6298, sections 2.1 and 5.5). After
/// one lost SYN, Linux keeps its initial window, so nothing shows it away from the sender.
const TWO_LOST_SYNS: TimeDelta = TimeDelta::from_millis(3_000);

/// The verdict on one sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The flow.
    pub flow: FlowId,
    /// Direction of the sender's data.
    pub direction: Direction,
    /// Time of the flow's first packet; of the sender's first data if that is unknown.
    pub began: Timestamp,
    /// Time from the flow's first packet to the sender's last ACK, or to its last timeout. The sum of
    /// [`times`](Self::times): time that a clock shows again after it was set back counts once.
    pub duration: TimeDelta,
    /// Cause that took most of the time; [`LimitCause::NotCertain`] if none took half of it.
    pub main: LimitCause,
    /// Time limited by each cause, by [`LimitCause::index`].
    pub times: [TimeDelta; LimitCause::COUNT],
    /// Beginning and length of the longest uninterrupted time of each cause.
    pub longest: [Option<(Timestamp, TimeDelta)>; LimitCause::COUNT],
    /// The evidence.
    pub evidence: Evidence,
}

/// The numbers behind a verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The least smoothed round-trip time.
    pub base_rtt: Option<TimeDelta>,
    /// Median of the round-trip time above the least, over the round trips with a queue.
    pub queue_delay: Option<TimeDelta>,
    /// Share of the growth of the bytes in flight that the round-trip time follows, in percent: 100
    /// in a queue that the sender fills alone. `None` if the bytes in flight hardly change.
    pub rtt_growth_percent: Option<i64>,
    /// Number of losses noticed while the queue was filled.
    pub losses_with_queue: u64,
    /// Number of losses noticed without a queue.
    pub losses_without_queue: u64,
    /// Median of the goodput between losses of the more frequent of the two kinds, in bits per
    /// second.
    pub goodput_between_losses_bps: Option<u64>,
    /// Distance of the quartiles of this goodput, in percent of the median.
    pub goodput_spread_percent: Option<i64>,
    /// Number of retransmission timeouts.
    pub timeouts: u64,
    /// Number of retransmitted packets.
    pub retransmitted: u64,
    /// Number of data packets lost on the path; `None` without a capture at the other end.
    pub lost: Option<LostPackets>,
    /// Bytes of the sender's data that the capture missed, at least. The time around them is
    /// [`LimitCause::NotCertain`].
    pub missed_bytes: u64,
    /// Further such bytes that may have been sent before the capture of the flow began.
    pub possibly_missed_bytes: u64,
    /// Number of captured ACKs before which the sender's state is unknown, because the capture missed other
    /// ACKs. The time before them is [`LimitCause::NotCertain`].
    pub acks_after_missed: u64,
    /// Position of the capture relative to the sender's data; `None` if unknown. Only a capture at the
    /// sender proves every cause.
    pub position: Option<Position>,
    /// Tick of the capture's clock, if it is too coarse for the round-trip times: these, and what
    /// rests on them, are then unknown.
    pub unresolved_by_tick: Option<TimeDelta>,
    /// True if the capture does not show in which order data left the sender and ACKs reached it: away from the
    /// sender, without usable TCP timestamps. Round-trip times, queues, losses and retransmissions are then
    /// unknown, although their numbers are zero.
    pub lacks_order: bool,
    /// How the connection was opened; `None` if the capture does not have its beginning.
    pub opening: Option<Opening>,
    /// True if the first two flights were one and two segments: the congestion window began at one
    /// segment, as after a lost SYN or SYN-ACK (RFC 5681, section 3.1).
    pub window_began_at_one: bool,
}

impl Evidence {
    /// True if the capture began in the middle of the connection. Its round-trip times may all include a queue, so
    /// [`Evidence::base_rtt`] is an upper bound.
    pub fn began_in_the_middle(&self) -> bool {
        self.opening.is_some_and(|opening| !opening.has_syn)
    }

    fn has_constant_goodput(&self) -> bool {
        let spread = self.goodput_spread_percent;
        spread.is_some_and(|spread| spread <= CONSTANT_PERCENT)
    }
}

impl Verdict {
    /// Share of a cause in the whole time, from 0 to 1000 thousandths.
    pub fn share_milli(&self, cause: LimitCause) -> i64 {
        let part = i128::from(self.times[cause.index()].as_nanos()) * 1_000;
        let whole = i128::from(self.duration.as_nanos().max(1));
        i64::try_from(part / whole).unwrap_or(1_000).min(1_000)
    }

    /// The causes that took any time, longest first.
    pub fn causes(&self) -> Vec<LimitCause> {
        let mut causes: Vec<LimitCause> = LimitCause::ALL
            .into_iter()
            .filter(|cause| self.times[cause.index()] > TimeDelta::ZERO)
            .collect();
        causes.sort_by_key(|cause| std::cmp::Reverse(self.times[cause.index()]));
        causes
    }
}

impl Limits {
    /// The tick of the clock if the shortest round trip is hardly longer, so that its error is as long
    /// as a queueing delay that matters.
    fn unresolved_by_tick(&self) -> Option<TimeDelta> {
        self.coarse_tick.filter(|tick| {
            self.base_rtt
                .is_none_or(|base| base < TimeDelta::from_nanos(2 * tick.as_nanos()))
        })
    }

    /// The verdict; `None` if no ACK reached the sender.
    ///
    /// `position` is the position of the capture if it is known otherwise than from the packets.
    pub fn verdict(mut self, position: Option<Position>) -> Option<Verdict> {
        self.position = position.or(self.position);
        self.end().then(|| judge(self))
    }
}

/// Judges what limited a sender.
fn judge(mut limits: Limits) -> Verdict {
    let unresolved_by_tick = limits.unresolved_by_tick();
    let base_rtt = limits.base_rtt.unwrap_or(TimeDelta::ZERO);
    let rounds = limits.rounds.all().to_vec();
    let (queue, filled) = Queue::of(base_rtt, &rounds);
    let losses = match limits.position {
        Some(Position::Sender) => limits.losses.clone(),
        Some(Position::Receiver | Position::Between) | None => apart(&limits.losses),
    };
    let (with_queue, without_queue): (Vec<Loss>, Vec<Loss>) =
        losses.iter().partition(|loss| queue.is_filled(loss.srtt));
    let most = if with_queue.len() > without_queue.len() {
        &with_queue
    } else {
        &without_queue
    };
    let goodputs = goodputs(most);
    let is_resolved = unresolved_by_tick.is_none();
    let queue_delays = filled
        .iter()
        .map(|round| (round.srtt - base_rtt).as_nanos());
    let queue_delay = whole_median(queue_delays.collect()).map(TimeDelta::from_nanos);
    let goodput = whole_median(goodputs.clone()).and_then(|bps| u64::try_from(bps).ok());
    let evidence = Evidence {
        base_rtt: limits.base_rtt.filter(|_| is_resolved),
        queue_delay: queue_delay.filter(|_| is_resolved),
        rtt_growth_percent: rtt_growth_percent(&filled),
        losses_with_queue: with_queue.len() as u64,
        losses_without_queue: without_queue.len() as u64,
        goodput_between_losses_bps: goodput,
        goodput_spread_percent: spread_percent(goodputs),
        timeouts: limits.timeouts,
        retransmitted: limits.retransmitted,
        lost: limits.lost,
        missed_bytes: limits.missed().bytes(),
        possibly_missed_bytes: limits.missed().possible_bytes(),
        acks_after_missed: limits.acks_after_missed,
        position: limits.position,
        unresolved_by_tick,
        lacks_order: limits.lacks_order,
        opening: limits.opening,
        window_began_at_one: limits.began_at_one,
    };
    // A flight that grows while the round-trip time does not has no queue.
    let unqueued: Vec<Round> = rounds
        .iter()
        .copied()
        .filter(|round| !queue.is_filled(round.srtt))
        .collect();
    let is_growing = !evidence.began_in_the_middle()
        || rtt_growth_percent(&unqueued).is_some_and(|growth| growth <= OTHERS_PERCENT);
    let mut growth = Growth::default();
    for round in rounds {
        let is_after_queue = || {
            let loss = round.loss.and_then(|loss| limits.losses.get(loss));
            loss.map(|loss| queue.is_filled(loss.srtt))
        };
        let cause = if queue.is_filled(round.srtt) {
            of_queue(&evidence, &queue)
        } else {
            match is_after_queue() {
                // The window recovers from a loss that the full queue caused.
                Some(true) => of_queue(&evidence, &queue),
                Some(false) => of_loss(&evidence),
                None if growth.may_have_own_pace(&round, limits.position) => LimitCause::NotCertain,
                None if !is_growing || growth.has_stopped(&round) => LimitCause::NotCertain,
                None => LimitCause::WindowGrowth,
            }
        };
        growth.add(&round);
        limits.spend(cause, round.began, round.span);
    }
    finish(limits, evidence)
}

/// Adds the last round trip, whose data was all that the application had, and names the main cause.
fn finish(mut limits: Limits, evidence: Evidence) -> Verdict {
    let by_window = [
        LimitCause::WindowGrowth,
        LimitCause::Loss,
        LimitCause::Policing,
        LimitCause::PathCapacity,
        LimitCause::OwnQueue,
        LimitCause::OthersQueue,
        LimitCause::Timeouts,
        LimitCause::ReceiverWindow,
        LimitCause::Application,
    ];
    let longest = by_window
        .into_iter()
        .max_by_key(|cause| limits.times[cause.index()])
        .unwrap_or(LimitCause::NotCertain);
    limits.times[longest.index()] += limits.unsure;
    for cause in LimitCause::ALL {
        let is_seen = evidence.unresolved_by_tick.is_none() || !rests_on_rtt(cause);
        if !is_seen || !is_proven(cause, limits.position) {
            limits.doubt(cause);
        }
    }
    let (began, last_at) = limits.span();
    // A window of one segment follows lost SYNs (RFC 5681, section 3.1), which a capture away from
    // the sender lacks. The lost SYNs took longer than the captured part of the connection.
    let hides_setup = limits.position != Some(Position::Sender)
        && limits.direction == Direction::Forward
        && limits.began_at_one
        && last_at - began < TWO_LOST_SYNS;
    let mut verdict = Verdict {
        flow: limits.flow,
        direction: limits.direction,
        began,
        duration: last_at - began,
        main: LimitCause::NotCertain,
        times: limits.times,
        longest: limits.longest,
        evidence,
    };
    if let Some(first) = verdict.causes().first()
        && verdict.share_milli(*first) >= MAIN_PERCENT * 10
        && !hides_setup
    {
        verdict.main = *first;
    }
    verdict
}

/// True if a capture at this position can prove the cause.
///
/// The packets of a handshake prove the setup at any position. Beyond the sender, data that the path
/// lost before the capture looks like data that the application had not written: its retransmission is
/// the first copy there. At an unknown position, the order of data and ACKs at the sender, on which all
/// other causes rest, is unknown.
fn is_proven(cause: LimitCause, position: Option<Position>) -> bool {
    match (cause, position) {
        (LimitCause::Setup | LimitCause::Tls | LimitCause::NotCertain, _)
        | (_, Some(Position::Sender)) => true,
        (LimitCause::Application, _) | (_, None) => false,
        (_, Some(Position::Receiver | Position::Between)) => true,
    }
}

/// True if round-trip times separate this cause from others.
fn rests_on_rtt(cause: LimitCause) -> bool {
    !matches!(
        cause,
        LimitCause::Setup
            | LimitCause::Tls
            | LimitCause::ReceiverWindow
            | LimitCause::Timeouts
            | LimitCause::NotCertain
    )
}

/// The cause of the time with a queue.
fn of_queue(evidence: &Evidence, queue: &Queue) -> LimitCause {
    let Some(delay) = evidence.queue_delay else {
        // The losses came with a queue that no whole round trip shows.
        return LimitCause::PathCapacity;
    };
    let has_mostly_bare_losses = evidence.losses_without_queue > evidence.losses_with_queue;
    let is_constant = evidence.has_constant_goodput() && !has_mostly_bare_losses;
    let growth = evidence.rtt_growth_percent;
    let is_large = delay.as_nanos() >= queue.base_rtt.as_nanos() / 100 * OTHERS_QUEUE_PERCENT
        && delay >= OTHERS_QUEUE_DELAY;
    let has_cycles = evidence.losses_with_queue >= MIN_CYCLES;
    let least_own = if has_cycles {
        OWN_PERCENT
    } else {
        OWN_PERCENT_AT_FIRST
    };
    let is_own = match growth {
        Some(growth) if (least_own..=MOST_OWN_PERCENT).contains(&growth) => true,
        Some(growth) if growth <= OTHERS_PERCENT => is_constant && !is_large,
        Some(_) | None => is_constant,
    };
    if is_own {
        return if queue.peak >= queue.base_rtt {
            LimitCause::OwnQueue
        } else {
            LimitCause::PathCapacity
        };
    }
    // Whatever delays the packets, the losses keep the window small.
    if has_mostly_bare_losses {
        return of_loss(evidence);
    }
    match growth {
        Some(growth) if growth <= OTHERS_PERCENT && is_large && has_cycles && !is_constant => {
            LimitCause::OthersQueue
        }
        _ => LimitCause::NotCertain,
    }
}

/// The cause of the time after losses without a queue.
fn of_loss(evidence: &Evidence) -> LimitCause {
    match evidence.goodput_spread_percent {
        // The sender repaired what the other capture has: packets were reordered or late.
        _ if evidence.lost.and_then(LostPackets::exact) == Some(0) => LimitCause::NotCertain,
        // If losses with a queue are more frequent, the goodput was measured between those.
        _ if evidence.losses_without_queue < evidence.losses_with_queue => LimitCause::NotCertain,
        _ if evidence.has_constant_goodput() => LimitCause::Policing,
        Some(spread) if spread >= RANDOM_PERCENT => LimitCause::Loss,
        _ => LimitCause::NotCertain,
    }
}
