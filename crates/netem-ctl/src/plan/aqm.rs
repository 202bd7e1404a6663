//! The options of each queue on Linux. Defaults are given explicitly, because they differ between
//! kernels.

use std::fmt::Write as _;

use tcpexp_units::{BitRate, TimeDelta, counted};

use super::check::OptionFact;
use super::error::PlanError;
use super::red::Red;
use super::size::QueueSize;
use crate::bottleneck::{Cells, Isolation, Path, Queue};

/// The options of a queue, and the facts to read back.
pub(crate) struct Leaf {
    /// All options, for creating it.
    pub(crate) options: String,
    /// The options that can change in place.
    pub(crate) changeable: String,
    /// The other options.
    pub(crate) fixed: String,
    /// Options that the read-back must find.
    pub(crate) facts: Vec<OptionFact>,
}

/// Default limits in packets: the kernel's (`sch_codel.c`, `sch_pie.c`, `sch_fq_codel.c`).
const CODEL_PACKETS: u64 = 1_000;
const PIE_PACKETS: u64 = 1_000;
const FLOW_QUEUE_PACKETS: u64 = 10_240;

/// Memory of a full packet in the kernel (`truesize`): 2048 bytes of data and 256 of `sk_buff`. Limits
/// in memory count this many bytes per packet.
const PACKET_MEMORY: u64 = 2_304;

/// Largest buffer of `cake`: the kernel's attribute of its memory has 32 bits.
const MOST_CAKE_PACKETS: u64 = u32::MAX as u64 / PACKET_MEMORY;

/// 32 MiB, the kernel's own default.
const QUEUE_MEMORY: u64 = 32 << 20;

/// Largest queue of one flow in `sfq` (`sch_sfq.c`, `SFQ_MAX_DEPTH`).
const SFQ_DEPTH: u64 = 127;

/// Hash buckets of `sfq`: the kernel's default (`sch_sfq.c`, `SFQ_DEFAULT_HASH_DIVISOR`). Each takes one queue at
/// most (`sfq_change`).
pub(crate) const SFQ_DIVISOR: u32 = 1_024;

/// Smallest limit of `sfq` in packets that `tc` accepts (`q_sfq.c`, `sfq_parse_opt`).
const LEAST_SFQ_PACKETS: u64 = 2;

/// Queues of `sfq` by default (`sch_sfq.c`, `SFQ_DEFAULT_FLOWS`).
const SFQ_FLOWS: u64 = 127;

/// The option of `red` that `tc` prints only in detail (`q_red.c`, `red_print_opt`).
pub(crate) const RED_PROBABILITY: &str = "probability";

/// Rounding of the probability of `red`: the kernel stores 32 bits, and `tc` prints six digits.
const PROBABILITY_TOLERANCE: f64 = 1e-6;

/// Update interval of the drop probability: RFC 8033, section 4.2, and the kernel's default (`sch_pie.c`,
/// `pie_params_init`).
const PIE_UPDATE: TimeDelta = TimeDelta::from_millis(15);

/// Rounding of the default update interval, in µs: the kernel rounds it up to whole ticks (`usecs_to_jiffies`), of
/// which it has at least 100 per second.
const TICK_US: f64 = 10_000.0;

/// Rounding of an update interval of whole ticks, in µs: of 300 ticks per second, three take 9 999 µs.
const WHOLE_TICKS_US: f64 = 1.0;

/// The queue of `path` with room for `size`; for `cake`, the shaper too.
pub(crate) fn leaf(path: &Path, rate: BitRate, size: Option<QueueSize>) -> Leaf {
    // `validate` requires a buffer for `pfifo`, `bfifo`, `red` and `sfq`, so their fallbacks never
    // apply.
    match path.queue.unwrap_or(Queue::Pfifo) {
        Queue::Pfifo => fifo(size.map_or(1, |size| size.packets)),
        Queue::Bfifo => fifo(size.map_or(path.full_frame(), |size| size.bytes)),
        Queue::Red => red(path, rate, size),
        Queue::Codel => codel(path, size),
        Queue::FqCodel => fq_codel(path, size),
        Queue::Pie => pie(path, size),
        Queue::FqPie => fq_pie(path, size),
        Queue::Cake => cake(path, rate, size),
        Queue::Sfq => sfq(path, size),
    }
}

impl Leaf {
    /// Creates a queue whose options can all change in place.
    fn flexible(options: String, facts: Vec<OptionFact>) -> Self {
        Self {
            changeable: options.clone(),
            options,
            fixed: String::new(),
            facts,
        }
    }

    fn with_fixed(fixed: String, changeable: String, facts: Vec<OptionFact>) -> Self {
        Self {
            options: format!("{changeable} {fixed}"),
            changeable,
            fixed,
            facts,
        }
    }
}

fn fifo(limit: u64) -> Leaf {
    let facts = vec![OptionFact::count("limit", limit)];
    Leaf::flexible(format!("limit {limit}"), facts)
}

fn red(path: &Path, rate: BitRate, size: Option<QueueSize>) -> Leaf {
    let limit = size.map_or(path.full_frame(), |size| size.bytes);
    let red = Red::of(path, limit);
    let Red {
        min,
        max,
        probability,
    } = red;
    let (packet, burst) = red.packet_and_burst();
    let ecn = path.ecn == Some(true);
    // `bandwidth` sets the decay of the average while the queue is idle (tc-red(8)).
    let options = format!(
        "limit {limit} min {min} max {max} avpkt {packet} burst {burst} probability \
         {probability} bandwidth {rate}{}",
        if ecn { " ecn" } else { "" }
    );
    let facts = vec![
        OptionFact::count("limit", limit),
        OptionFact::count("min", min),
        OptionFact::count("max", max),
        OptionFact::number(RED_PROBABILITY, probability, PROBABILITY_TOLERANCE),
        OptionFact::switch("ecn", ecn),
    ];
    Leaf::flexible(options, facts)
}

fn codel(path: &Path, size: Option<QueueSize>) -> Leaf {
    one_queue(
        codel_options(path),
        size.map_or(CODEL_PACKETS, |size| size.packets),
    )
}

fn fq_codel(path: &Path, size: Option<QueueSize>) -> Leaf {
    queue_per_flow(codel_options(path), path, size)
}

fn codel_options(path: &Path) -> (String, Vec<OptionFact>) {
    let target = path.target.unwrap_or(TimeDelta::from_millis(5));
    let interval = path.interval.unwrap_or(TimeDelta::from_millis(100));
    let ecn = path.ecn == Some(true);
    let mut words = format!(
        "target {} interval {} {}",
        target.to_exact_text(),
        interval.to_exact_text(),
        ecn_word(ecn)
    );
    let mut facts = vec![
        micros("target", target),
        micros("interval", interval),
        OptionFact::switch("ecn", ecn),
    ];
    match path.ce_threshold {
        // The read-back looks for a leftover of a program that set a threshold.
        None => facts.push(OptionFact::absent("ce_threshold")),
        Some(threshold) => {
            let _ = write!(words, " ce_threshold {}", threshold.to_exact_text());
            facts.push(micros("ce_threshold", threshold));
        }
    }
    (words, facts)
}

/// The options that a change cannot take away: without the word, the kernel keeps the old threshold
/// (`codel_change`, `fq_codel_change`) or the old limit (`cake_change`), and no word of `tc` means "none".
pub(crate) fn unremovable(path: &Path) -> String {
    let threshold = path.ce_threshold.map(|_| "ce_threshold");
    let limit = path.buffer.filter(|_| path.queue == Some(Queue::Cake));
    threshold
        .or(limit.map(|_| "memlimit"))
        .unwrap_or_default()
        .to_owned()
}

fn pie(path: &Path, size: Option<QueueSize>) -> Leaf {
    one_queue(
        pie_options(path),
        size.map_or(PIE_PACKETS, |size| size.packets),
    )
}

fn fq_pie(path: &Path, size: Option<QueueSize>) -> Leaf {
    queue_per_flow(pie_options(path), path, size)
}

/// An AQM on one queue that all flows share.
fn one_queue((words, mut facts): (String, Vec<OptionFact>), limit: u64) -> Leaf {
    facts.push(OptionFact::count("limit", limit));
    Leaf::flexible(format!("limit {limit} {words}"), facts)
}

/// An AQM on several queues that flows are hashed to.
fn queue_per_flow(
    (words, mut facts): (String, Vec<OptionFact>),
    path: &Path,
    size: Option<QueueSize>,
) -> Leaf {
    let limit = size.map_or(FLOW_QUEUE_PACKETS, |size| size.packets);
    let flows = u64::from(path.flow_queues.unwrap_or(1_024));
    let memory = memory_limit(limit);
    let quantum = path.full_frame();
    facts.extend([
        OptionFact::count("limit", limit),
        OptionFact::count("flows", flows),
        OptionFact::count("quantum", quantum),
        OptionFact::count("memory_limit", memory),
    ]);
    // The kernel refuses a change that names the number of flows, even the same number.
    Leaf::with_fixed(
        format!("flows {flows}"),
        format!("limit {limit} quantum {quantum} memory_limit {memory} {words}"),
        facts,
    )
}

fn pie_options(path: &Path) -> (String, Vec<OptionFact>) {
    let target = path.target.unwrap_or(TimeDelta::from_millis(15));
    let update = path.update_interval.unwrap_or(PIE_UPDATE);
    // A plan that names the interval means it; the default is whatever the kernel makes of its own.
    let rounding = path.update_interval.map_or(TICK_US, |_| WHOLE_TICKS_US);
    let ecn = path.ecn == Some(true);
    // RFC 8033 has α = 1/8 and β = 5/4. The kernel takes both in sixteenths
    // (`pie_calculate_probability`).
    let words = format!(
        "target {} tupdate {} alpha 2 beta 20 {}",
        target.to_exact_text(),
        update.to_exact_text(),
        ecn_word(ecn)
    );
    let facts = vec![
        micros("target", target),
        OptionFact::number("tupdate", us(update), rounding),
        OptionFact::count("alpha", 2),
        OptionFact::count("beta", 20),
        OptionFact::switch("ecn", ecn),
    ];
    (words, facts)
}

/// How `cake` counts bytes. `raw` counts frames with their Ethernet header, as `htb` does; else it
/// counts from the IP packet.
fn cake_framing(path: &Path) -> (String, Vec<OptionFact>) {
    let Some(framing) = path.framing() else {
        return ("raw".to_owned(), vec![OptionFact::switch("raw", true)]);
    };
    let cells = match framing.cells {
        Cells::None => "noatm",
        Cells::Atm => "atm",
        Cells::Ptm => "ptm",
    };
    let mut words = format!("{cells} overhead {}", framing.overhead);
    let mut facts = vec![
        OptionFact::switch("raw", false),
        OptionFact::word("atm", cells),
        OptionFact::number("overhead", framing.overhead.into(), 0.0),
    ];
    // A minimum of 0 is the kernel's default, which `tc` does not print.
    if framing.minimum > 0 {
        let _ = write!(words, " mpu {}", framing.minimum);
        facts.push(OptionFact::count("mpu", framing.minimum.into()));
    } else {
        facts.push(OptionFact::absent("mpu"));
    }
    (words, facts)
}

fn cake(path: &Path, rate: BitRate, size: Option<QueueSize>) -> Leaf {
    let rtt = path.interval.unwrap_or(TimeDelta::from_millis(100));
    // `besteffort` has one tin, so the DSCP of a packet does not change its share of the rate.
    let (framing, framing_facts) = cake_framing(path);
    let isolation = path.isolation.unwrap_or(Isolation::TripleIsolate).name();
    let mut options = format!(
        "bandwidth {rate} rtt {} besteffort {isolation} nonat nowash no-ack-filter {framing}",
        rtt.to_exact_text()
    );
    // `tc` prints rates in bytes per second in its JSON.
    let bytes_per_second = rate.as_bps() as f64 / 8.0;
    let mut facts = vec![
        OptionFact::number("bandwidth", bytes_per_second, 1.0),
        micros("rtt", rtt),
        OptionFact::word("diffserv", "besteffort"),
        OptionFact::word("flowmode", isolation),
    ];
    facts.extend(framing_facts);
    if let Some(size) = size {
        let memory = size.packets * PACKET_MEMORY;
        let _ = write!(options, " memlimit {memory}");
        facts.push(OptionFact::count("memlimit", memory));
    }
    Leaf::flexible(options, facts)
}

/// Refuses a buffer that the queues of `sfq` cannot hold, as the kernel silently lowers the limit to flows · depth,
/// a buffer that is too small for `sfq`, and a buffer whose memory `cake` cannot count in 32 bits.
pub(crate) fn check_room(
    direction: &'static str,
    path: &Path,
    size: Option<QueueSize>,
) -> Result<(), PlanError> {
    let Some(size) = size else { return Ok(()) };
    let refused = |expected| {
        Err(PlanError::Value {
            direction,
            key: "buffer",
            value: counted(size.packets, "packet"),
            expected,
        })
    };
    match path.queue {
        Some(Queue::Sfq) if size.packets < LEAST_SFQ_PACKETS => {
            return refused("at least 2 packets with sfq");
        }
        Some(Queue::Sfq) => {}
        Some(Queue::Cake) if size.packets > MOST_CAKE_PACKETS => {
            return refused("at most 1864135 packets with cake, whose limit is 4 GiB of memory");
        }
        _ => return Ok(()),
    }
    let room = sfq_flows(path, size.packets) * SFQ_DEPTH;
    if size.packets <= room {
        return Ok(());
    }
    Err(PlanError::Room {
        direction,
        packets: size.packets,
        room,
        depth: SFQ_DEPTH,
    })
}

/// The number of queues of `sfq`.
fn sfq_flows(path: &Path, limit: u64) -> u64 {
    let least = limit.div_ceil(SFQ_DEPTH).max(SFQ_FLOWS);
    let least = least.min(SFQ_DIVISOR.into());
    path.flow_queues.map_or(least, u64::from)
}

fn sfq(path: &Path, size: Option<QueueSize>) -> Leaf {
    let limit = size.map_or(SFQ_DEPTH, |size| size.packets);
    let flows = sfq_flows(path, limit);
    let quantum = path.full_frame();
    let fixed = format!(
        "limit {limit} depth {SFQ_DEPTH} flows {flows} divisor {SFQ_DIVISOR} quantum {quantum}"
    );
    let facts = vec![
        OptionFact::count("limit", limit),
        OptionFact::count("depth", SFQ_DEPTH),
        OptionFact::count("quantum", quantum),
    ];
    Leaf {
        options: fixed.clone(),
        // `sch_sfq` has no change operation, so no option can change in place.
        changeable: String::new(),
        fixed,
        facts,
    }
}

/// A memory limit that is never reached before the limit in packets.
fn memory_limit(packets: u64) -> u64 {
    let needed = packets.saturating_mul(2 * PACKET_MEMORY);
    // The kernel's attribute has 32 bits.
    needed.clamp(QUEUE_MEMORY, u64::from(u32::MAX))
}

const fn ecn_word(ecn: bool) -> &'static str {
    if ecn { "ecn" } else { "noecn" }
}

fn us(time: TimeDelta) -> f64 {
    time.as_nanos() as f64 / 1e3
}

/// Microseconds. The kernel stores units of 1024 ns, so 5 ms are read back as 4999 µs.
fn micros(path: &'static str, time: TimeDelta) -> OptionFact {
    OptionFact::number(path, us(time), 2.1)
}
