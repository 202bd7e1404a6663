//! Refuses contradictory links: policers, slots, traces and link layers.

use tcpexp_units::{BitRate, Buffer, ByteCount, TimeDelta};

use super::super::error::PlanError;
use super::{LONGEST, LOWEST_RATE_BPS};
use crate::bottleneck::{Cells, FULL_FRAME, LinkLayer, Path, Queue};

/// Minimum burst of a policer, in bytes: a policer with a smaller one drops every full frame.
const MIN_BURST: u64 = FULL_FRAME;

pub(super) fn check_policer(direction: &'static str, path: &Path) -> Result<(), PlanError> {
    let needs = |key, needs| PlanError::Needs {
        direction,
        key,
        needs,
    };
    match (path.police, path.police_burst) {
        (None, Some(_)) => Err(needs("police_burst", "police, the rate of the policer")),
        (Some(_), None) => Err(needs(
            "police",
            "police_burst, such as police_burst = \"64kB\"",
        )),
        (Some(rate), _) if rate.as_bps() < LOWEST_RATE_BPS => Err(PlanError::Value {
            direction,
            key: "police",
            value: rate.to_string(),
            expected: "at least 8kbit",
        }),
        (Some(_), Some(burst)) if burst.as_bytes() < MIN_BURST => Err(PlanError::Value {
            direction,
            key: "police_burst",
            value: burst.to_string(),
            expected: "at least 1514B, a full frame",
        }),
        (Some(rate), Some(burst)) => check_burst(direction, rate, burst),
        _ => Ok(()),
    }
}

/// Largest relative error of a burst, in hundredths: the read-back tolerates it too.
const BURST_ERROR: u64 = 100;

/// Refuses bursts that `tc` cannot pass on. It passes the time that they take at the rate, in whole microseconds
/// that it converts to ticks of 64 ns in 32 bits (`tc_core.c`, `tc_calc_xmittime`).
fn check_burst(direction: &'static str, rate: BitRate, burst: ByteCount) -> Result<(), PlanError> {
    let refused = |expected| wrong(direction, "police_burst", burst.to_string(), expected);
    let Some(time) = rate.time_of(burst) else {
        return Ok(());
    };
    if time.as_nanos() / TICK_NS > i64::from(u32::MAX) {
        return refused("at most the bytes of 274 s at the rate of the policer");
    }
    let micros = time.as_nanos() / 1_000;
    let passed = TimeDelta::from_nanos(micros * 1_000 / TICK_NS * TICK_NS);
    let lost = burst
        .as_bytes()
        .saturating_sub(rate.bytes_in(passed).as_bytes());
    if lost.saturating_mul(BURST_ERROR) > burst.as_bytes() {
        return refused(
            "at least what the policer passes in 107 us, because tc cuts the burst to whole microseconds",
        );
    }
    Ok(())
}

/// Length of a tick of the kernel's packet scheduler, in nanoseconds (`PSCHED_SHIFT`).
const TICK_NS: i64 = 64;

fn wrong(
    direction: &'static str,
    key: &'static str,
    value: String,
    expected: &'static str,
) -> Result<(), PlanError> {
    Err(PlanError::Value {
        direction,
        key,
        value,
        expected,
    })
}

pub(super) fn check_slots(direction: &'static str, path: &Path) -> Result<(), PlanError> {
    let needs = |key, needs| PlanError::Needs {
        direction,
        key,
        needs,
    };
    let keys = [
        ("slot_most", path.slot_most.is_some()),
        ("slot_packets", path.slot_packets.is_some()),
        ("slot_bytes", path.slot_bytes.is_some()),
    ];
    let Some(every) = path.slot else {
        return match keys.iter().find(|(_, is_set)| *is_set) {
            Some((key, _)) => Err(needs(key, "slot, the time between slots")),
            None => Ok(()),
        };
    };
    if every <= TimeDelta::ZERO || every > LONGEST {
        return wrong(
            direction,
            "slot",
            every.to_exact_text(),
            "a time above 0s, up to 10s",
        );
    }
    if let Some(most) = path.slot_most
        && !(every..=LONGEST).contains(&most)
    {
        return wrong(
            direction,
            "slot_most",
            most.to_exact_text(),
            "a time from slot to 10s",
        );
    }
    // 0 is "unlimited" to the kernel, and its number is signed.
    let is_count = |count: u64| (1..=i32::MAX as u64).contains(&count);
    if let Some(packets) = path
        .slot_packets
        .filter(|packets| !is_count((*packets).into()))
    {
        return wrong(direction, "slot_packets", packets.to_string(), "at least 1");
    }
    if let Some(bytes) = path.slot_bytes.filter(|bytes| !is_count(bytes.as_bytes())) {
        return wrong(direction, "slot_bytes", bytes.to_string(), "1 byte to 2 GB");
    }
    if let Some(rate) = path.rate {
        let expected = "no rate: slots determine it, by slot_packets or slot_bytes";
        return wrong(direction, "rate", rate.to_string(), expected);
    }
    if let Some(queue) = path.queue.filter(|queue| *queue != Queue::Pfifo) {
        return wrong(
            direction,
            "queue",
            queue.to_string(),
            "pfifo, the only queue of a slotted link",
        );
    }
    match path.buffer {
        None => Err(needs("slot", "a buffer, such as buffer = \"100p\"")),
        Some(buffer @ (Buffer::Time(_) | Buffer::Bdp { .. })) if path.slot_rate().is_none() => {
            let expected = "packets or bytes, or slot_packets or slot_bytes that determine a rate";
            wrong(direction, "buffer", buffer.to_string(), expected)
        }
        Some(_) => Ok(()),
    }
}

pub(super) fn check_trace(direction: &'static str, path: &Path) -> Result<(), PlanError> {
    let Some(trace) = &path.trace else {
        return Ok(());
    };
    if trace.facts.is_none() {
        let expected = "a trace that has been read: see Bottleneck::read_traces";
        return wrong(direction, "trace", trace.file.clone(), expected);
    }
    if let Some(rate) = path.rate {
        return wrong(
            direction,
            "rate",
            rate.to_string(),
            "no rate: the trace determines it",
        );
    }
    if let Some(slot) = path.slot {
        let expected = "no slots: the trace determines when packets leave";
        return wrong(direction, "slot", slot.to_exact_text(), expected);
    }
    if let Some(queue) = path.queue.filter(|queue| *queue != Queue::Pfifo) {
        let expected = "pfifo, the only queue of a link with a trace";
        return wrong(direction, "queue", queue.to_string(), expected);
    }
    if path.buffer.is_none() {
        return Err(PlanError::Needs {
            direction,
            key: "trace",
            needs: "a buffer, such as buffer = \"100p\"",
        });
    }
    Ok(())
}

/// The accepted overheads: those of `cake` (tc-cake(8)).
const OVERHEADS: std::ops::RangeInclusive<i32> = -64..=256;

pub(super) fn check_link(direction: &'static str, path: &Path) -> Result<(), PlanError> {
    let Some(framing) = path.framing() else {
        return Ok(());
    };
    let key = if path.linklayer.is_some() {
        "linklayer"
    } else {
        "overhead"
    };
    if path.rate.is_none() {
        return Err(PlanError::Needs {
            direction,
            key,
            needs: "a rate, which counts the bytes of the link",
        });
    }
    if !OVERHEADS.contains(&framing.overhead) {
        return Err(PlanError::Value {
            direction,
            key: "overhead",
            value: framing.overhead.to_string(),
            expected: "-64 to 256 bytes",
        });
    }
    // The size tables of `tc` support ATM cells only.
    if framing.cells == Cells::Ptm && path.queue != Some(Queue::Cake) {
        let name = path.linklayer.map_or("", LinkLayer::name);
        return Err(PlanError::Value {
            direction,
            key: "linklayer",
            value: name.to_owned(),
            expected: "a link without PTM, or queue = \"cake\", which computes its encoding",
        });
    }
    Ok(())
}
