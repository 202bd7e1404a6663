//! The options of dummynet's queues, as `ipfw` takes and prints them.

use tcpexp_units::TimeDelta;

use super::red::Red;
use super::size::QueueSize;
use crate::bottleneck::{Path, Queue};

/// Default limits in packets: the limits of Linux, so that a description has the same meaning on
/// both systems.
const AQM_SLOTS: u64 = 1_000;
const FLOW_QUEUE_PACKETS: u64 = 10_240;

/// Size and AQM of a queue, in the order that `ipfw` requires.
pub(crate) fn queue_words(path: &Path, queue: Queue, size: Option<QueueSize>) -> String {
    let slots = size.map_or(AQM_SLOTS, |size| size.packets);
    let ecn = path.ecn == Some(true);
    // `noerror` reports a dropped packet as sent, because a drop at a real router is silent too
    // (ipfw(8)).
    match queue {
        Queue::Bfifo => {
            // In plain bytes: the suffix K means 1024.
            let bytes = size.map_or(0, |size| size.bytes);
            format!("queue {bytes}Bytes droptail noerror")
        }
        Queue::Red => {
            let bytes = size.map_or(0, |size| size.bytes);
            let Red {
                min,
                max,
                probability,
            } = Red::of(path, bytes);
            let ecn = if ecn { " ecn" } else { "" };
            // The weight of the average is 0.002, as in the simulations of Floyd and Jacobson (1993).
            format!("queue {bytes}Bytes noerror red 0.002/{min}/{max}/{probability}{ecn}")
        }
        Queue::Codel => format!("queue {slots} noerror codel {}", codel_words(path)),
        Queue::Pie => format!("queue {slots} noerror pie {}", pie_words(path)),
        _ => format!("queue {slots} droptail noerror"),
    }
}

pub(crate) fn flow_queue_words(path: &Path, queue: Queue, size: Option<QueueSize>) -> String {
    let limit = size.map_or(FLOW_QUEUE_PACKETS, |size| size.packets);
    let flows = path.flow_queues.unwrap_or(1_024);
    let words = match queue {
        Queue::FqPie => pie_words(path),
        _ => codel_words(path),
    };
    let quantum = path.full_frame();
    format!("{words} quantum {quantum} limit {limit} flows {flows}")
}

fn codel_words(path: &Path) -> String {
    let target = path.target.unwrap_or(TimeDelta::from_millis(5));
    let interval = path.interval.unwrap_or(TimeDelta::from_millis(100));
    format!(
        "target {} interval {} {}",
        micros(target),
        micros(interval),
        ecn_word(path)
    )
}

fn pie_words(path: &Path) -> String {
    let target = path.target.unwrap_or(TimeDelta::from_millis(15));
    // The gains below are the gains of RFC 8033, as on Linux, where `tc` takes them in sixteenths.
    let update = path.update_interval.unwrap_or(TimeDelta::from_millis(15));
    format!(
        "target {} tupdate {} alpha 0.125 beta 1.25 {}",
        micros(target),
        micros(update),
        ecn_word(path)
    )
}

fn ecn_word(path: &Path) -> &'static str {
    match path.ecn {
        Some(true) => "ecn",
        _ => "noecn",
    }
}

fn micros(time: TimeDelta) -> String {
    format!("{}us", time.as_nanos() / 1_000)
}

/// How `ipfw pipe show` prints a queue: from 8 KiB on in whole KiB.
pub(crate) fn shown_queue(queue: Queue, size: Option<QueueSize>) -> Vec<String> {
    let slots = size.map_or(AQM_SLOTS, |size| size.packets);
    let bytes = size.map_or(0, |size| size.bytes);
    let shown_bytes = if bytes >= 8_192 {
        format!("{} KB", bytes / 1_024)
    } else {
        format!("{bytes} B")
    };
    match queue {
        Queue::FqCodel | Queue::FqPie => Vec::new(),
        Queue::Bfifo => vec![shown_bytes, "droptail".into()],
        Queue::Red => vec![shown_bytes, "RED".into()],
        Queue::Codel => vec![format!("{slots} sl."), "CoDel".into()],
        Queue::Pie => vec![format!("{slots} sl."), "PIE".into()],
        _ => vec![format!("{slots} sl."), "droptail".into()],
    }
}
