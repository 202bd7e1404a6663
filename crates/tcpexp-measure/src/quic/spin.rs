//! Round-trip times by the spin bit (RFC 9000, section 17.4).
//!
//! **Turns.** At any point of the path, the ends take turns to change the bit: the client may change it
//! only after the server has repeated its last change, and the server only after the client's. A packet
//! that shows a change out of turn is reordered, or the bit is random.
//!
//! **Evidence.** A random bit changes with probability 1/2, independent for each packet (section 17.4). A
//! spin bit does not change out of turn, and in turn it changes with a small share of the packets. So
//! each packet is evidence for or against a random bit. Samples begin once the evidence of both
//! directions suffices.
//!
//! **Error.** A change leaves an end with the end's next packet. The end had not received the other
//! end's change when it sent its previous packet. So the time that a change waits at an end is less
//! than the time between these two packets. The capture shows this time, unless a queue before the
//! capture delays the two packets differently and thus hides a pause. A change whose first packet is
//! lost beyond the capture reaches the end with the next packet, at most the gap after it later. The
//! maximum error of a sample is the sum of both gaps.

use tcpexp_flow::{Direction, Seen};
use tcpexp_units::Timestamp;

use super::QuicSample;
use crate::missed_acks::MAX_SWAP;

/// Assumed share of packets out of turn that reordering gives the wrong value.
const REORDERED_SHARE: f64 = 0.02;
/// Smallest and largest probability that a random bit changes. The smallest applies if an end draws the
/// bit for two packets at once, the largest if it draws the bit for each packet.
const RANDOM_CHANGES: [f64; 2] = [0.25, 0.5];
/// Evidence that suffices: the packets are a thousand times as probable with a spin bit as with a random
/// bit. Because evidence is a likelihood ratio, a random bit reaches it with a probability of at most
/// 1/1000 (Ville's inequality).
const ENOUGH_EVIDENCE: f64 = 6.9;
/// Upper bound on the evidence, so that a few packets show that an end ceases to spin.
const MOST_EVIDENCE: f64 = 2.0 * ENOUGH_EVIDENCE;
/// Largest maximum error of a sample that is kept, as a divisor of the sample. A quarter is what
/// measurements of the spin bit count as accurate (Kunze et al., "Does It Spin?", IMC 2023).
const ERROR_DIVISOR: i64 = 4;
/// Packets of each direction without a change after which the bit counts as constant. Two packets per
/// round trip and direction are the fewest that a busy connection sends (an ACK for every second packet,
/// RFC 9000, section 13.2.2), so this number of packets takes several round trips.
const CONSTANT_PACKETS: u64 = 20;

/// Use of the spin bit by a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SpinState {
    /// The bit spins: it changes in turn.
    Spinning,
    /// The bit has the same value in all packets of a direction: disabled.
    Constant,
    /// The bit changes out of turn: disabled with random values, or many packets are reordered.
    Random,
    /// Too few packets, packets in one direction only, or several connections.
    Undecided,
}

impl SpinState {
    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spinning => "spinning",
            Self::Constant => "constant",
            Self::Random => "random",
            Self::Undecided => "undecided",
        }
    }
}

/// Follows the spin bits of both directions.
#[derive(Clone, Debug, Default)]
pub(super) struct Spin {
    ways: [Way; 2],
    /// Direction of the latest change.
    latest: Option<Direction>,
    /// Time of the latest packet.
    latest_at: Option<Timestamp>,
    changes: u64,
}

/// The spin bit of one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    value: bool,
    packets: u64,
    /// Time of the latest packet; `None` if the clock was set back since.
    last: Option<Timestamp>,
    /// Time of the latest change, and the time of the first packet after it.
    change: Option<(Timestamp, Option<Timestamp>)>,
    /// Packets in turn, and how many of these changed the bit.
    in_turn: [f64; 2],
    /// Logarithm of the likelihood ratio.
    evidence: f64,
}

impl Spin {
    /// Processes a packet; returns the round trip that ends with it.
    pub(super) fn observe(&mut self, spin: bool, seen: &Seen) -> Option<QuicSample> {
        let (direction, at) = (seen.direction, seen.at);
        let is_turn = self.latest != Some(direction);
        let latest_at = self.latest_at.replace(at);
        // A packet that is earlier by more than a swap shows that the clock was set back.
        if latest_at.is_some_and(|latest_at| latest_at - at > MAX_SWAP) {
            self.forget_times();
        }
        let way = &mut self.ways[direction.index()];
        way.packets += 1;
        let before = way.last.replace(at);
        if way.packets == 1 {
            way.value = spin;
            return None;
        }
        let changes = spin != way.value;
        way.weigh(changes, is_turn);
        if !(changes && is_turn) {
            if let Some((_, after)) = &mut way.change {
                after.get_or_insert(at);
            }
            return None;
        }
        way.value = spin;
        way.change = Some((at, None));
        self.latest = Some(direction);
        self.changes += 1;
        self.sample(direction.opposite(), before, at)
    }

    /// Forgets all times, because the clock was set back by an unknown time.
    #[cold]
    fn forget_times(&mut self) {
        for way in &mut self.ways {
            way.last = None;
            way.change = None;
        }
    }

    /// The round trip from the latest change of `direction` to its answer at `at`; the answering end
    /// sent its previous packet at `before`.
    fn sample(
        &self,
        direction: Direction,
        before: Option<Timestamp>,
        at: Timestamp,
    ) -> Option<QuicSample> {
        let (change, after) = self.ways[direction.index()].change?;
        let rtt = at.checked_since(change)?;
        // Swapped packets show no gap.
        let error = at.checked_since(before?)? + after?.checked_since(change)?;
        let is_kept = error.as_nanos().checked_mul(ERROR_DIVISOR)? <= rtt.as_nanos();
        (is_kept && self.has_evidence()).then_some(QuicSample {
            at,
            direction,
            rtt,
            error: Some(error),
            is_handshake: false,
        })
    }

    fn has_evidence(&self) -> bool {
        self.ways.iter().all(|way| way.evidence >= ENOUGH_EVIDENCE)
    }

    pub(super) fn state(&self) -> SpinState {
        let [one, other] = &self.ways;
        let has_both = one.packets >= CONSTANT_PACKETS && other.packets >= CONSTANT_PACKETS;
        if self.ways.iter().any(|way| way.evidence <= -ENOUGH_EVIDENCE) {
            SpinState::Random
        } else if self.changes > 1 && self.has_evidence() {
            SpinState::Spinning
        } else if self.changes == 0 && has_both {
            SpinState::Constant
        } else {
            SpinState::Undecided
        }
    }
}

impl Way {
    /// Weighs a packet: adds the logarithm of its probability with a spin bit over its largest
    /// probability with a random bit.
    fn weigh(&mut self, changes: bool, is_turn: bool) {
        let of_change = if is_turn {
            // The share of changes depends on the rate of packets, so it is learnt from the packets
            // before (the estimator of Krichevsky and Trofimov, 1981).
            let [packets, earlier] = &mut self.in_turn;
            let share = (*earlier + 0.5) / (*packets + 1.0);
            *packets += 1.0;
            *earlier += f64::from(u8::from(changes));
            share
        } else {
            REORDERED_SHARE
        };
        let [least, most] = RANDOM_CHANGES;
        let ratio = if changes {
            of_change / most
        } else {
            (1.0 - of_change) / (1.0 - least)
        };
        let ratio = ratio.ln();
        self.evidence = (self.evidence + ratio).clamp(-MOST_EVIDENCE, MOST_EVIDENCE);
    }
}
