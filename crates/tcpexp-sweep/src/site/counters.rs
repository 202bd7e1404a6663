//! Counters of a router's queues, and their differences between two reads.

use std::collections::BTreeMap;

use tcpexp_host::Qdisc;

use tcpexp_runs::record::QueueCounters;

/// The queues of a Linux router at one time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    /// Time of the read, on the router's clock.
    pub(crate) at_ns: i64,
    queues: Vec<Qdisc>,
}

/// Prints the time and all queues of a router, each on one line.
pub(crate) const READ: &str = "now_ns\ntc -s -j qdisc show\n";

impl Counters {
    /// Reads the output of [`READ`] at the beginning of `text`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let (time, queues) = (lines.next()?, lines.next()?);
        Some(Self {
            at_ns: time.trim().parse().ok()?,
            queues: Qdisc::list(queues).ok()?,
        })
    }

    /// Returns the increase of the counters of the queue towards `interface` since `earlier`.
    pub(crate) fn since(&self, earlier: &Self, interface: &str) -> Option<QueueCounters> {
        let (now, then) = (self.queue(interface)?, earlier.queue(interface)?);
        Some(QueueCounters {
            drops: difference(now.drops, then.drops)?,
            packets_sent: difference(now.packets, then.packets)?,
            marks: difference(now.marks(), then.marks()),
        })
    }

    /// Returns the rate at which the queue towards `interface` sent since `earlier`, in bits per
    /// second.
    pub(crate) fn rate_bps(&self, earlier: &Self, interface: &str) -> Option<f64> {
        let (now, then) = (self.queue(interface)?, earlier.queue(interface)?);
        let bits = difference(now.bytes, then.bytes)? * 8;
        let nanos = self.at_ns - earlier.at_ns;
        (nanos > 0).then(|| bits as f64 * 1e9 / nanos as f64)
    }

    /// Returns the drops since `earlier`, by queue. Queues without drops are left out.
    pub(crate) fn drops(&self, earlier: &Self) -> BTreeMap<String, u64> {
        let mut all = BTreeMap::new();
        for queue in &self.queues {
            // A queue that the earlier read does not have began at 0.
            let then = earlier.same(queue).and_then(|then| then.drops);
            if let Some(drops @ 1..) = difference(queue.drops, then.or(Some(0))) {
                all.insert(name(queue), drops);
            }
        }
        all
    }

    /// Returns the number of packets towards `interface` that bypassed its rate since `earlier`.
    pub(crate) fn unshaped(&self, earlier: &Self, interface: &str) -> u64 {
        let here = |queue: &&Qdisc| queue.dev.as_deref() == Some(interface);
        let since = |queue: &Qdisc| {
            let then = earlier.same(queue).and_then(Qdisc::unshaped_packets);
            difference(queue.unshaped_packets(), then.or(Some(0)))
        };
        self.queues.iter().filter(here).filter_map(since).sum()
    }

    fn queue(&self, interface: &str) -> Option<&Qdisc> {
        Qdisc::queue_of(&self.queues, interface)
    }

    fn same(&self, queue: &Qdisc) -> Option<&Qdisc> {
        let known = name(queue);
        self.queues.iter().find(|other| name(other) == known)
    }
}

/// `None` if a counter is unknown or was reset.
fn difference(now: Option<u64>, then: Option<u64>) -> Option<u64> {
    now?.checked_sub(then?)
}

/// True if a queue, by its name in [`Counters::drops`], is a delay stage: it is on a device of its own.
pub(crate) fn is_delay_stage(name: &str) -> bool {
    name.starts_with(netem_ctl::DELAY_DEVICES)
}

fn name(queue: &Qdisc) -> String {
    let dev = queue.dev.as_deref().unwrap_or("?");
    let text = format!("{dev} {} {}", queue.kind, queue.handle);
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(at_ns: i64, packets: u64, drops: u64) -> Counters {
        let text = format!(
            r#"{at_ns}
[{{"kind":"noqueue","dev":"lo","handle":"0:","root":true,"packets":0,"drops":0}},{{"kind":"htb","handle":"1:","dev":"right","root":true,"options":{{"direct_packets_stat":{drops}}},"packets":{packets},"drops":9}},{{"kind":"pfifo","handle":"10:","dev":"right","parent":"1:10","bytes":{},"packets":{packets},"drops":{drops}}}]"#,
            packets * 1_514
        );
        Counters::parse(&text).unwrap()
    }

    #[test]
    fn counters_come_from_the_queue_below_the_rate_limiter() {
        let (before, after) = (counters(0, 10, 1), counters(1_000_000_000, 110, 4));
        let counted = QueueCounters {
            drops: 3,
            packets_sent: 100,
            marks: None,
        };
        assert_eq!(after.since(&before, "right"), Some(counted));
        assert_eq!(
            after.rate_bps(&before, "right"),
            Some(100.0 * 1_514.0 * 8.0)
        );
        assert_eq!(
            after.drops(&before).into_iter().collect::<Vec<_>>(),
            [("right pfifo 10:".to_owned(), 3)]
        );
        assert_eq!(after.since(&before, "left"), None);
        assert_eq!(after.unshaped(&before, "right"), 3);
    }
}
