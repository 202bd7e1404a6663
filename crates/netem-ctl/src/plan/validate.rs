//! Refuses contradictory bottlenecks, on any system of the router.

mod link;

use tcpexp_units::TimeDelta;

use super::aqm::SFQ_DIVISOR;
use super::error::PlanError;
use crate::bottleneck::{Bottleneck, FlowDelay, MAX_FLOWS, Path, Queue};
use crate::router::{Os, Router};

/// The longest delay. dummynet accepts no longer one; netem's timers would overflow only much later.
const LONGEST: TimeDelta = TimeDelta::from_seconds(10);

/// The lowest rate, at which a full packet takes 1.5 s.
const LOWEST_RATE_BPS: u64 = 8_000;

/// Checks both directions.
pub(crate) fn check(all: &Bottleneck, router: &Router) -> Result<(), PlanError> {
    if router.left == router.right {
        return Err(PlanError::OneInterface(router.left.to_string()));
    }
    for (direction, path) in [("forward", &all.forward), ("reverse", &all.reverse)] {
        check_line(direction, path)?;
        link::check_policer(direction, path)?;
        link::check_slots(direction, path)?;
        link::check_trace(direction, path)?;
        check_queue(direction, path)?;
        for (index, flow) in path.flows.iter().flatten().enumerate() {
            check_flow(direction, index, flow, path.jitter.unwrap_or_default())?;
        }
        let flows = path.flows.iter().flatten().count();
        if flows > MAX_FLOWS as usize {
            return Err(PlanError::Value {
                direction,
                key: "flows",
                value: format!("{flows} flows"),
                expected: "at most 30 flows",
            });
        }
        if router.os == Os::FreeBsd {
            super::freebsd::check(direction, path)?;
        }
    }
    Ok(())
}

fn check_line(direction: &'static str, path: &Path) -> Result<(), PlanError> {
    let value = |key, value: TimeDelta, expected| PlanError::Value {
        direction,
        key,
        value: value.to_exact_text(),
        expected,
    };
    let delay = path.delay.unwrap_or_default();
    let jitter = path.jitter.unwrap_or_default();
    if delay < TimeDelta::ZERO || delay > LONGEST {
        return Err(value("delay", delay, "a time from 0s to 10s"));
    }
    if jitter < TimeDelta::ZERO || jitter > delay {
        return Err(value(
            "jitter",
            jitter,
            "at most the delay: no packet arrives before it is sent",
        ));
    }
    // `tc` cuts times to whole microseconds, and does not know nanoseconds.
    let is_lost = |time: TimeDelta| time > TimeDelta::ZERO && time < TimeDelta::from_micros(1);
    for (key, time) in [("delay", delay), ("jitter", jitter)] {
        if is_lost(time) {
            return Err(value(key, time, "0s, or at least 1us"));
        }
    }
    let needs = |key, needs| PlanError::Needs {
        direction,
        key,
        needs,
    };
    if path.reorder.is_some() && delay == TimeDelta::ZERO {
        return Err(needs("reorder", "a delay that some packets skip"));
    }
    if path.jitter.is_none() {
        if path.jitter_distribution.is_some() {
            return Err(needs("jitter_distribution", "jitter"));
        }
        if path.jitter_reorders {
            return Err(needs("jitter_reorders", "jitter"));
        }
    }
    Ok(())
}

fn check_queue(direction: &'static str, path: &Path) -> Result<(), PlanError> {
    let needs = |key, needs| PlanError::Needs {
        direction,
        key,
        needs,
    };
    link::check_link(direction, path)?;
    let keys = queue_keys(path);
    let Some(rate) = path.rate else {
        // Slots and a trace have a queue of their own (`link::check_slots`, `link::check_trace`), which does not
        // mark.
        let has_queue = path.slot.is_some() || path.trace.is_some();
        let of_queue = |key: &str| has_queue && ["buffer", "queue"].contains(&key);
        let mut keys = keys.iter().filter(|(key, ..)| !of_queue(key));
        return match keys.find(|(_, is_set, _)| *is_set) {
            Some((key, ..)) => Err(needs(key, "a rate, because no queue forms without one")),
            None => Ok(()),
        };
    };
    if rate.as_bps() < LOWEST_RATE_BPS {
        return Err(PlanError::Value {
            direction,
            key: "rate",
            value: rate.to_string(),
            expected: "at least 8kbit",
        });
    }
    let queue = path.queue.unwrap_or(Queue::Pfifo);
    for (key, is_set, of) in keys {
        if is_set && !of.contains(&queue) {
            return Err(PlanError::NotOfQueue {
                direction,
                key,
                queue,
                expected: names(of),
            });
        }
    }
    if path.ecn == Some(false) && queue == Queue::Cake {
        return Err(PlanError::Value {
            direction,
            key: "ecn",
            value: "false".into(),
            expected: "true or no value: cake always marks",
        });
    }
    check_flow_queues(direction, path, queue)?;
    check_times(direction, path)?;
    check_red(direction, path)?;
    // The kernel's default for a FIFO is the interface's `txqueuelen`, which differs between
    // devices.
    let must_have = [Queue::Pfifo, Queue::Bfifo, Queue::Red, Queue::Sfq];
    if path.buffer.is_none() && must_have.contains(&queue) {
        return Err(needs("queue", "a buffer, such as buffer = \"1bdp\""));
    }
    Ok(())
}

/// Most queues of `fq_codel` and `fq_pie` (`fq_codel_change`, `fq_pie_change`, and dummynet's).
const MOST_FLOW_QUEUES: u32 = 65_536;

/// Refuses numbers of queues that the kernel replaces: `sfq` takes 0 for its default, and lowers a number above its
/// hash buckets.
fn check_flow_queues(direction: &'static str, path: &Path, queue: Queue) -> Result<(), PlanError> {
    let (most, expected) = match queue {
        Queue::Sfq => (SFQ_DIVISOR, "1 to 1024 with sfq"),
        _ => (MOST_FLOW_QUEUES, "1 to 65536"),
    };
    match path.flow_queues {
        Some(flows) if !(1..=most).contains(&flows) => Err(PlanError::Value {
            direction,
            key: "flow_queues",
            value: flows.to_string(),
            expected,
        }),
        _ => Ok(()),
    }
}

/// Longest time of a queue: `tc` passes microseconds in 32 bits (`get_time`), which end after 4294.9 s.
const LONGEST_OF_QUEUE: TimeDelta = TimeDelta::from_seconds(4_294);

/// Refuses times that `tc` or the kernel replace: `tc` cuts them to whole microseconds and takes 0 for its default.
fn check_times(direction: &'static str, path: &Path) -> Result<(), PlanError> {
    const MICROSECOND: TimeDelta = TimeDelta::from_micros(1);
    let from_microsecond = "a time from 1us to 4294s";
    let times = [
        ("target", path.target, MICROSECOND, from_microsecond),
        ("interval", path.interval, MICROSECOND, from_microsecond),
        (
            "update_interval",
            path.update_interval,
            // The timers of Linux have at most 1000 ticks per second.
            TimeDelta::from_millis(1),
            "a time from 1ms to 4294s",
        ),
        // A threshold of 0 marks all packets that wait.
        (
            "ce_threshold",
            path.ce_threshold,
            TimeDelta::ZERO,
            "a time from 0s to 4294s",
        ),
    ];
    for (key, time, least, expected) in times {
        if let Some(time) = time
            && !(least..=LONGEST_OF_QUEUE).contains(&time)
        {
            return Err(PlanError::Value {
                direction,
                key,
                value: time.to_exact_text(),
                expected,
            });
        }
    }
    Ok(())
}

/// Refuses probabilities that `tc` cannot pass on: it multiplies them by 2³² into 32 bits (`q_red.c`), where 1
/// overflows to "none given".
fn check_red(direction: &'static str, path: &Path) -> Result<(), PlanError> {
    let is_between = |share: f64| share > 0.0 && share < 1.0;
    match path.red_probability {
        Some(share) if !is_between(share.as_f64()) => Err(PlanError::Value {
            direction,
            key: "red_probability",
            value: share.to_string(),
            expected: "more than 0% and less than 100%",
        }),
        _ => Ok(()),
    }
}

const ALL: &[Queue] = &Queue::ALL;
const MARKING: &[Queue] = &[
    Queue::Red,
    Queue::Codel,
    Queue::FqCodel,
    Queue::Pie,
    Queue::FqPie,
    Queue::Cake,
];
const AIMING: &[Queue] = &[Queue::Codel, Queue::FqCodel, Queue::Pie, Queue::FqPie];
const REACTING: &[Queue] = &[Queue::Codel, Queue::FqCodel, Queue::Cake];
const CODELS: &[Queue] = &[Queue::Codel, Queue::FqCodel];
const PIES: &[Queue] = &[Queue::Pie, Queue::FqPie];
const HASHING: &[Queue] = &[Queue::FqCodel, Queue::FqPie, Queue::Sfq];

/// Returns the keys of queues: name, true if the key is set, and the queues that take it.
fn queue_keys(path: &Path) -> [(&'static str, bool, &'static [Queue]); 12] {
    [
        ("buffer", path.buffer.is_some(), ALL),
        ("queue", path.queue.is_some(), ALL),
        // `ecn = false` is true of queues that cannot mark.
        ("ecn", path.ecn == Some(true), MARKING),
        ("target", path.target.is_some(), AIMING),
        ("interval", path.interval.is_some(), REACTING),
        ("update_interval", path.update_interval.is_some(), PIES),
        ("ce_threshold", path.ce_threshold.is_some(), CODELS),
        ("flow_queues", path.flow_queues.is_some(), HASHING),
        ("red_min", path.red_min.is_some(), &[Queue::Red]),
        ("red_max", path.red_max.is_some(), &[Queue::Red]),
        (
            "red_probability",
            path.red_probability.is_some(),
            &[Queue::Red],
        ),
        ("isolation", path.isolation.is_some(), &[Queue::Cake]),
    ]
}

fn names(queues: &[Queue]) -> &'static str {
    match queues {
        MARKING => "red, codel, fq_codel, pie, fq_pie or cake",
        AIMING => "codel, fq_codel, pie or fq_pie",
        REACTING => "codel, fq_codel or cake",
        CODELS => "codel or fq_codel",
        PIES => "pie or fq_pie",
        HASHING => "fq_codel, fq_pie or sfq",
        [Queue::Red] => "red",
        [Queue::Cake] => "cake",
        _ => "any queue",
    }
}

fn check_flow(
    direction: &'static str,
    index: usize,
    flow: &FlowDelay,
    jitter: TimeDelta,
) -> Result<(), PlanError> {
    let wrong = |problem| PlanError::Flow {
        direction,
        index,
        problem,
    };
    let families: Vec<bool> = [flow.source, flow.destination]
        .into_iter()
        .flatten()
        .map(|prefix| prefix.is_ipv6())
        .collect();
    if families.is_empty() && flow.source_port.is_none() && flow.destination_port.is_none() {
        return Err(wrong(
            "identifies no packets: expected source, destination or a port",
        ));
    }
    // IANA reserves port 0, and TCP and UDP sockets cannot be bound to it: 0 asks for any free port.
    if [flow.source_port, flow.destination_port].contains(&Some(0)) {
        return Err(wrong("expected ports from 1 to 65535"));
    }
    if families.first() != families.last() {
        return Err(wrong("source and destination are of different IP versions"));
    }
    if flow.delay < TimeDelta::ZERO || flow.delay > LONGEST {
        return Err(wrong("expected a delay from 0s to 10s"));
    }
    if flow.delay > TimeDelta::ZERO && flow.delay < TimeDelta::from_micros(1) {
        return Err(wrong("expected a delay of 0s, or of at least 1us"));
    }
    // The flow's delay stage draws the same jitter, and no packet arrives before it is sent. A stage
    // without a delay has no jitter.
    if flow.delay > TimeDelta::ZERO && flow.delay < jitter {
        return Err(wrong(
            "expected a delay of 0s, or of at least the path's jitter",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::bottleneck::Bottleneck;
    use crate::plan::plan;
    use crate::router::{Os, Router};

    #[test]
    fn port_0_of_a_flow_is_refused() {
        let router = Router {
            os: Os::Linux,
            left: "r0".parse().unwrap(),
            right: "r1".parse().unwrap(),
        };
        let with = |key: &str, port: u16| {
            let text = format!("[[forward.flows]]\n{key} = {port}\ndelay = '5ms'");
            plan(&Bottleneck::from_toml(&text).unwrap(), &router)
        };
        for key in ["source_port", "destination_port"] {
            assert_eq!(
                with(key, 0).unwrap_err().to_string(),
                "forward.flows[1]: expected ports from 1 to 65535"
            );
            assert!(with(key, 1).is_ok());
        }
    }
}
