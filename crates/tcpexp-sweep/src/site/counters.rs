//! What a router's queues counted, as `tc -s -j` prints it.

use std::collections::BTreeMap;

use serde::Deserialize;

use tcpexp_runs::record::QueueCounters;

/// The queues of a Linux router at one time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    /// When they were read, on the router's clock.
    pub(crate) at_ns: i64,
    queues: Vec<Counted>,
}

#[derive(Clone, Debug, Deserialize)]
struct Counted {
    dev: Option<String>,
    kind: String,
    handle: Option<String>,
    parent: Option<String>,
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    packets: u64,
    #[serde(default)]
    drops: u64,
    /// Of `htb`: packets that passed without being shaped.
    #[serde(default)]
    direct_packets_stat: u64,
}

/// Prints the time and all queues of a router.
pub(crate) const READ: &str = "now_ns\ntc -s -j qdisc show\n";

impl Counters {
    /// What [`READ`] printed at the beginning of `text`; `None` if it is something else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let (time, queues) = (lines.next()?, lines.next()?);
        Some(Self {
            at_ns: time.trim().parse().ok()?,
            queues: serde_json::from_str(queues).ok()?,
        })
    }

    /// The queue of packets that leave by an interface: the one behind the rate, if there is one.
    fn leaf(&self, interface: &str) -> Option<&Counted> {
        let here = || {
            let on = |queue: &&Counted| queue.dev.as_deref() == Some(interface);
            self.queues
                .iter()
                .filter(on)
                .filter(|queue| queue.kind != "ingress" && queue.kind != "clsact")
        };
        here()
            .find(|queue| queue.parent.is_some())
            .or_else(|| here().next())
    }

    /// What the queue towards `interface` counted since `earlier`.
    pub(crate) fn since(&self, earlier: &Self, interface: &str) -> Option<QueueCounters> {
        let (now, then) = (self.leaf(interface)?, earlier.leaf(interface)?);
        Some(QueueCounters {
            drops: now.drops.checked_sub(then.drops)?,
            packets_sent: now.packets.checked_sub(then.packets)?,
        })
    }

    /// The rate at which the queue towards `interface` sent since `earlier`, in bits per second.
    pub(crate) fn rate_bps(&self, earlier: &Self, interface: &str) -> Option<f64> {
        let (now, then) = (self.leaf(interface)?, earlier.leaf(interface)?);
        let bits = now.bytes.checked_sub(then.bytes)? * 8;
        let nanos = self.at_ns - earlier.at_ns;
        (nanos > 0).then(|| bits as f64 * 1e9 / nanos as f64)
    }

    /// Drops since `earlier`, by queue; those that dropped nothing left out.
    pub(crate) fn drops(&self, earlier: &Self) -> BTreeMap<String, u64> {
        let mut all = BTreeMap::new();
        for queue in &self.queues {
            let same = |other: &&Counted| other.name() == queue.name();
            let then = earlier
                .queues
                .iter()
                .find(same)
                .map_or(0, |then| then.drops);
            if let Some(drops @ 1..) = queue.drops.checked_sub(then) {
                all.insert(queue.name(), drops);
            }
        }
        all
    }

    /// Packets that passed the rate unshaped.
    pub(crate) fn unshaped(&self, interface: &str) -> u64 {
        let on = |queue: &&Counted| queue.dev.as_deref() == Some(interface);
        self.queues
            .iter()
            .filter(on)
            .map(|queue| queue.direct_packets_stat)
            .sum()
    }
}

impl Counted {
    fn name(&self) -> String {
        let dev = self.dev.as_deref().unwrap_or("?");
        let handle = self.handle.as_deref().unwrap_or_default();
        format!("{dev} {} {handle}", self.kind)
            .trim_end()
            .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(at_ns: i64, packets: u64, drops: u64) -> Counters {
        let text = format!(
            r#"{at_ns}
[{{"kind":"noqueue","dev":"lo","handle":"0:","root":true,"packets":0,"drops":0}},{{"kind":"htb","handle":"1:","dev":"right","root":true,"direct_packets_stat":0,"packets":{packets},"drops":9}},{{"kind":"pfifo","handle":"10:","dev":"right","parent":"1:10","bytes":{},"packets":{packets},"drops":{drops}}}]"#,
            packets * 1_514
        );
        Counters::parse(&text).unwrap()
    }

    #[test]
    fn queue_behind_the_rate_counts() {
        let (before, after) = (counters(0, 10, 1), counters(1_000_000_000, 110, 4));
        let counted = QueueCounters {
            drops: 3,
            packets_sent: 100,
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
    }
}
