//! Counters of a router's queues, and their differences between two reads.

use std::collections::BTreeMap;

use tcpexp_host::{Qdisc, command_line};

use tcpexp_runs::record::QueueCounters;

use crate::plan::Host;

/// The queues of a Linux router at one time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    /// Time of the read, on the router's clock.
    pub(crate) at_ns: i64,
    queues: Vec<Qdisc>,
}

/// Commands that print the queues of a router's interfaces and of all its delay stages.
///
/// Each device is read on its own: `tc` prints some queues (`hfsc`) as text that is not JSON, and such a queue
/// on another device would make all counters unreadable.
pub(crate) fn reading(router: &Host) -> String {
    let interfaces = [&router.right, &router.left].into_iter().flatten();
    let words = ["print_counters", netem_ctl::DELAY_DEVICES];
    let words = words.into_iter().chain(interfaces.map(String::as_str));
    command_line(words) + "\n"
}

/// Beginning of the line with the time, in `print_counters`.
const TIME: &str = "counters_at ";
/// Beginning of a line with the queues of a device, in `print_counters`.
const QUEUES: &str = "queues ";

impl Counters {
    /// Reads the first output of [`reading`] in `text`. The error says why the counters of a delay
    /// stage or of an interface in `needed` cannot be read.
    pub(crate) fn parse(text: &str, needed: &[&str]) -> Result<Self, String> {
        let mut lines = text.lines();
        let at_ns = lines.find_map(|line| line.strip_prefix(TIME));
        let at_ns = at_ns.and_then(|time| time.trim().parse().ok());
        let mut all = Self {
            at_ns: at_ns.ok_or("the output has no time")?,
            queues: Vec::new(),
        };
        let mut read = Vec::new();
        for line in lines.map_while(|line| line.strip_prefix(QUEUES)) {
            let (device, json) = line.split_once(' ').unwrap_or((line, ""));
            match Qdisc::list(json) {
                Ok(mut queues) if !queues.is_empty() => {
                    for queue in &mut queues {
                        // Older versions of `tc` omit the device in an answer about one device.
                        queue.dev = Some(device.to_owned());
                    }
                    all.queues.append(&mut queues);
                    read.push(device);
                }
                _ if !is_delay_stage(device) && !needed.contains(&device) => {}
                Ok(_) => return Err(format!("tc prints no queue of {device}")),
                Err(error) => {
                    return Err(format!(
                        "the output of tc about {device} is not JSON: {error}"
                    ));
                }
            }
        }
        match needed.iter().find(|device| !read.contains(device)) {
            Some(device) => Err(format!("the queues of {device} were not read")),
            None => Ok(all),
        }
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
                // The queues below `mq` have one name.
                *all.entry(name(queue)).or_default() += drops;
            }
        }
        all
    }

    /// The first queue that holds packets.
    pub(crate) fn holding(&self) -> Option<String> {
        let holds = |queue: &&Qdisc| queue.qlen.is_some_and(|packets| packets > 0);
        self.queues.iter().find(holds).map(name)
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

    /// The first queue of one of these interfaces or of a delay stage that was removed or replaced since
    /// `earlier`: its drops are unknown.
    pub(crate) fn replaced(&self, earlier: &Self, interfaces: &[&str]) -> Option<String> {
        let is_ours = |queue: &&Qdisc| {
            let device = queue.dev.as_deref().unwrap_or_default();
            interfaces.contains(&device) || is_delay_stage(device)
        };
        let counts = |queue: &Qdisc| [queue.packets, queue.drops, queue.unshaped_packets()];
        let continues = |then: &Qdisc| {
            self.same(then).is_some_and(|now| {
                let both = counts(now).into_iter().zip(counts(then));
                both.into_iter().all(|(now, then)| now >= then)
            })
        };
        let mut ours = earlier.queues.iter().filter(is_ours);
        ours.find(|then| !continues(then)).map(name)
    }

    fn queue(&self, interface: &str) -> Option<&Qdisc> {
        Qdisc::queue_of(&self.queues, interface)
    }

    fn same(&self, queue: &Qdisc) -> Option<&Qdisc> {
        let place = |queue: &Qdisc| (name(queue), queue.parent.clone());
        let known = place(queue);
        self.queues.iter().find(|other| place(other) == known)
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

    /// Output of `print_counters` about two interfaces.
    fn output(at_ns: i64, packets: u64, drops: u64, left: &str) -> String {
        format!(
            r#"counters_at {at_ns}
queues right [{{"kind":"htb","handle":"1:","root":true,"options":{{"direct_packets_stat":{drops}}},"packets":{packets},"drops":9}},{{"kind":"pfifo","handle":"10:","dev":"right","parent":"1:10","bytes":{},"packets":{packets},"drops":{drops}}}]
queues left {left}
ended bulk 1 2 0
"#,
            packets * 1_514
        )
    }

    const NO_QUEUE: &str =
        r#"[{"kind":"noqueue","handle":"0:","root":true,"packets":0,"drops":0}]"#;

    fn counters(at_ns: i64, packets: u64, drops: u64) -> Counters {
        let text = output(at_ns, packets, drops, NO_QUEUE);
        Counters::parse(&text, &["right", "left"]).unwrap()
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
        assert_eq!(after.since(&before, "other"), None);
        assert_eq!(after.unshaped(&before, "right"), 3);
    }

    #[test]
    fn counters_that_cannot_be_read_are_an_error_where_the_plan_needs_them() {
        // iproute2 6.1 prints the option of `hfsc` so.
        let hfsc =
            r#"[{"kind":"hfsc","handle":"5:","root":true,"options":{default 1 },"packets":0}]"#;
        let text = output(7, 10, 1, hfsc);
        let counters = Counters::parse(&text, &["right"]).unwrap();
        assert!(counters.queue("right").is_some() && counters.queue("left").is_none());
        let refused = |text: &str| Counters::parse(text, &["right", "left"]).unwrap_err();
        let reason = refused(&text);
        assert!(
            reason.starts_with("the output of tc about left is not JSON"),
            "{reason}"
        );
        assert_eq!(refused(&output(7, 10, 1, "")), "tc prints no queue of left");
        assert_eq!(refused(""), "the output has no time");
        assert_eq!(
            refused("counters_at 7\n"),
            "the queues of right were not read"
        );
        let delayed = output(7, 10, 1, NO_QUEUE).replace("ended", "queues tcxd-f0 \nended");
        assert_eq!(refused(&delayed), "tc prints no queue of tcxd-f0");
    }

    #[test]
    fn queue_that_holds_packets_is_found() {
        let read = |held: u64| {
            let queue = format!(r#"[{{"kind":"netem","handle":"3:","root":true,"qlen":{held}}}]"#);
            let text = output(7, 10, 1, NO_QUEUE)
                .replace("ended", &format!("queues tcxd-f0 {queue}\nended"));
            Counters::parse(&text, &[]).unwrap().holding()
        };
        assert_eq!(read(0), None);
        assert_eq!(read(2).as_deref(), Some("tcxd-f0 netem 3:"));
    }

    #[test]
    fn queue_that_was_replaced_between_two_reads_is_found() {
        let (before, after) = (counters(0, 10, 1), counters(9, 110, 4));
        assert_eq!(after.replaced(&before, &["right"]), None);
        let reset = before.replaced(&after, &["right"]);
        assert_eq!(reset.as_deref(), Some("right htb 1:"));
        assert_eq!(before.replaced(&after, &["left"]), None);
        let text = output(9, 110, 4, NO_QUEUE).replace("10:", "11:");
        let other = Counters::parse(&text, &[]).unwrap();
        let removed = other.replaced(&before, &["right"]);
        assert_eq!(removed.as_deref(), Some("right pfifo 10:"));
    }

    #[test]
    fn drops_of_the_queues_below_mq_are_those_of_each_one() {
        let read = |drops: [u64; 2]| {
            let queue = |(index, drops): (usize, u64)| {
                format!(
                    r#"{{"kind":"fq","handle":"0:","parent":":{}","drops":{drops}}}"#,
                    index + 1
                )
            };
            let queues = drops.into_iter().enumerate().map(queue).collect::<Vec<_>>();
            let text = format!("counters_at 1\nqueues left [{}]\n", queues.join(","));
            Counters::parse(&text, &["left"]).unwrap()
        };
        let drops = read([8, 3]).drops(&read([7, 1]));
        assert_eq!(
            drops.into_iter().collect::<Vec<_>>(),
            [("left fq 0:".to_owned(), 3)]
        );
    }
}
