//! Our names and numbers on a Linux router, and the options of the delay stage.

use std::fmt::Write as _;

use tcpexp_units::{ByteCount, Share, TimeDelta};

use super::check::OptionFact;
use crate::bottleneck::{Loss, Path};

/// Our names and handles in one direction.
pub(crate) struct Own {
    /// Name of the direction.
    pub(crate) direction: &'static str,
    /// Prefix of the names of delay devices.
    pub(crate) device: &'static str,
    /// Handle of the rate stage, at the root of the outgoing interface.
    pub(crate) rate: &'static str,
    /// Handle of the queue below it.
    pub(crate) queue: &'static str,
    /// Handle of the delay stages, each at the root of its own device.
    pub(crate) delay: &'static str,
    /// Number of the policer among the policing actions of the router.
    pub(crate) policer: u32,
}

/// From left to right.
pub(crate) const FORWARD: Own = Own {
    direction: "forward",
    device: "tcxd-l",
    rate: "7b1:",
    queue: "7c1:",
    delay: "7d1:",
    policer: 7_104,
};

/// From right to left.
pub(crate) const REVERSE: Own = Own {
    direction: "reverse",
    device: "tcxd-r",
    rate: "7b2:",
    queue: "7c2:",
    delay: "7d2:",
    policer: 7_105,
};

/// How the names of the devices of all delay stages on Linux begin.
pub const DELAY_DEVICES: &str = "tcxd-";

/// Device group of all our devices, which one command deletes.
pub(crate) const GROUP: u32 = 7_700;

/// Priorities of our filters: IPv4 flows, IPv6 flows, everything.
pub(crate) const PRIORITIES: [u32; 3] = [7_101, 7_102, 7_103];

/// Priority of the filter with a policer, on the way out of an interface.
pub(crate) const POLICER: u32 = 7_104;

/// Offloads that merge or split packets: the name for `ethtool -K`, and the name in the output of
/// `ethtool -k`.
pub(crate) const OFFLOADS: [(&str, &str); 5] = [
    ("tso", "tcp-segmentation-offload"),
    ("gso", "generic-segmentation-offload"),
    ("gro", "generic-receive-offload"),
    ("lro", "large-receive-offload"),
    (NEWEST_OFFLOAD, NEWEST_OFFLOAD),
];

/// The only one of [`OFFLOADS`] that a supported kernel may lack: Linux 4.18 introduced it.
pub(crate) const NEWEST_OFFLOAD: &str = "tx-udp-segmentation";

/// The rate that makes netem keep the order of packets under jitter (`sch_netem.c`, `netem_enqueue`:
/// a packet with a rate leaves after the one before). A full packet takes 0.1 µs at it.
const ORDERING_RATE: &str = "100gbit";

/// The reordering of a delay stage.
const REORDER: &str = "reorder";

/// Smallest limit of a delay stage, in packets: netem's default.
const MIN_ROOM: u64 = 1_000;

/// Bytes of the smallest Ethernet frame on the wire: 64, 8 of preamble and 12 of gap (IEEE 802.3).
const SMALL_FRAME: u128 = 84;

/// Options of the delay stage of `path` with a delay of `delay`: the words, and the facts to read back.
pub(crate) fn netem(path: &Path, delay: TimeDelta) -> (String, Vec<OptionFact>) {
    let room = room(path, delay);
    let mut words = format!("limit {room}");
    let mut facts = vec![OptionFact::count("limit", room)];
    // The delay of a flow may be 0, and netem takes jitter only together with a delay.
    let jitter = path.jitter.filter(|_| delay > TimeDelta::ZERO);
    if delay > TimeDelta::ZERO {
        let _ = write!(words, " delay {}", delay.to_exact_text());
        facts.push(seconds("delay.delay", delay));
        if let Some(jitter) = jitter {
            let _ = write!(words, " {}", jitter.to_exact_text());
            facts.push(seconds("delay.jitter", jitter));
            if let Some(distribution) = path.jitter_distribution
                && distribution != crate::bottleneck::Distribution::Uniform
                && jitter > TimeDelta::ZERO
            {
                // Without a table netem draws uniformly (`tabledist`), so the uniform distribution
                // has no word. A jitter of 0 has no distribution, and `tc` refuses the word.
                let _ = write!(words, " distribution {}", distribution.name());
            }
        }
    } else {
        // The read-back finds a leftover only if it looks for options that the plan does not name.
        facts.push(OptionFact::absent("delay"));
    }
    let happens = path.without_zeros();
    match happens.loss {
        None => facts.push(OptionFact::absent("loss-random")),
        Some(Loss::Random(loss)) => {
            let _ = write!(words, " loss random {loss}");
            facts.push(share("loss-random.loss", loss));
        }
        Some(Loss::Bursts(model)) => {
            let parts = [
                ("loss-gemodel.p", model.enter_bad),
                ("loss-gemodel.r", model.leave_bad),
                ("loss-gemodel.1-h", model.in_bad),
                ("loss-gemodel.1-k", model.in_good),
            ];
            // tc-netem(8): `loss gemodel P [R [1-H [1-K]]]`.
            words += " loss gemodel";
            for (path, part) in parts {
                let _ = write!(words, " {part}");
                facts.push(share(path, part));
            }
        }
    }
    if let Some(duplicate) = happens.duplicate {
        let _ = write!(words, " duplicate {duplicate}");
        facts.push(share("duplicate.duplicate", duplicate));
    } else {
        facts.push(OptionFact::absent("duplicate"));
    }
    // A packet skips the delay. `tc` refuses the option without a delay, where it would do nothing.
    if let Some(reorder) = happens.reorder.filter(|_| delay > TimeDelta::ZERO) {
        let _ = write!(words, " reorder {reorder}");
        facts.push(share("reorder.reorder", reorder));
    } else {
        facts.push(OptionFact::absent(REORDER));
    }
    if jitter.is_some() && !path.jitter_reorders {
        let _ = write!(words, " rate {ORDERING_RATE}");
        // 100 Gbit/s in bytes per second, as `tc` prints it.
        facts.push(OptionFact::number("rate.rate", 12_500_000_000.0, 0.0));
    } else {
        facts.push(OptionFact::absent("rate"));
    }
    (words, facts)
}

/// Options of a slotted link with a queue of `limit` packets: the words, and the facts to read back.
pub(crate) fn slots(path: &Path, every: TimeDelta, limit: u64) -> (String, Vec<OptionFact>) {
    let most = path.slot_most.unwrap_or(every);
    let mut words = format!(
        "limit {limit} slot {} {}",
        every.to_exact_text(),
        most.to_exact_text()
    );
    let mut facts = vec![
        OptionFact::count("limit", limit),
        seconds("slot.min-delay", every),
        seconds("slot.max-delay", most),
        OptionFact::absent("delay"),
    ];
    let limits = [
        ("packets", "slot.packets", path.slot_packets.map(u64::from)),
        (
            "bytes",
            "slot.bytes",
            path.slot_bytes.map(ByteCount::as_bytes),
        ),
    ];
    for (word, path, limit) in limits {
        match limit {
            Some(limit) => {
                let _ = write!(words, " {word} {limit}");
                facts.push(OptionFact::count(path, limit));
            }
            // `tc` prints an unlimited slot as 0.
            None => facts.push(OptionFact::count(path, 0)),
        }
    }
    (words, facts)
}

/// Options of a change of a delay stage: those of [`netem`], and all that it would else keep.
///
/// Without the word, the kernel keeps the probability of reordering (`netem_change`). It then reorders nothing,
/// because `tc` sends a gap of 0, but `tc` prints the old probability. A probability of 0 replaces it.
pub(crate) fn netem_change(path: &Path, delay: TimeDelta) -> String {
    let (words, facts) = netem(path, delay);
    if facts.contains(&OptionFact::absent(REORDER)) {
        words + " reorder 0%"
    } else {
        words
    }
}

/// The fixed properties of a delay stage: if a change names no rate or no distribution, the kernel
/// keeps the old one.
pub(crate) fn netem_fixed(path: &Path) -> Vec<String> {
    let jitter = path.jitter.map(|_| path.jitter_reorders);
    vec![format!("{jitter:?} {:?}", path.jitter_distribution)]
}

/// True if the path needs a delay stage. A loss of 0 % needs one too, because a change may raise
/// it.
pub(crate) fn needs_netem(path: &Path) -> bool {
    let delay = path.delay.unwrap_or_default();
    let happens = [path.duplicate, path.reorder];
    delay > TimeDelta::ZERO
        || path.loss.is_some()
        || happens.iter().any(Option::is_some)
        || path.flows.iter().flatten().next().is_some()
}

/// Limit of a delay stage in packets: 1.5 times the number of smallest packets that arrive during
/// the delay, at ten times the rate of the bottleneck or 1 Gbit/s, whichever is more. An unused
/// limit has no cost, and a drop here would look like loss on the path.
fn room(path: &Path, delay: TimeDelta) -> u64 {
    let rate = path.rate.map_or(0, |rate| rate.as_bps().saturating_mul(10));
    let arriving = u128::from(rate.max(1_000_000_000));
    let jitter = path.jitter.unwrap_or_default().as_nanos();
    // The jitter of a normal distribution is its standard deviation, so some packets wait longer than
    // the sum of delay and jitter.
    let waiting = delay.as_nanos() + 4 * jitter;
    let waiting = u128::try_from(waiting).unwrap_or(0);
    // 3/2 · arriving · waiting / (8 · 84 · 10⁹)
    let packets = (3 * arriving * waiting).div_ceil(2 * 8 * SMALL_FRAME * 1_000_000_000);
    let packets = u64::try_from(packets).unwrap_or(u64::MAX);
    packets.clamp(MIN_ROOM, u64::from(u32::MAX / 2))
}

/// Rounding of a time in seconds: `tc` cuts the time to whole microseconds, the kernel's units of 64 ns cut it
/// again, and `tc` prints whole microseconds.
const TIME_TOLERANCE: f64 = 2.1e-6;

/// A time in seconds. `tc` prints six digits of it.
fn seconds(path: &'static str, time: TimeDelta) -> OptionFact {
    let value = time.as_seconds_f64();
    OptionFact::number(path, value, value * 1e-5 + TIME_TOLERANCE)
}

/// A share of 1. The kernel stores 32 bits, `tc` prints six digits.
fn share(path: &'static str, share: Share) -> OptionFact {
    let value = share.as_f64();
    OptionFact::number(path, value, value * 1e-5 + 1e-9)
}
