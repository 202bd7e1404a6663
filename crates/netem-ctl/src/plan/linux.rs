//! Linux: the delay on a device of its own before the router, rate and queue at the interface that
//! packets leave by.
//!
//! Packets that enter the router are redirected to an `ifb` device whose root is the delay stage;
//! rate and queue are at the root of the interface that they leave by. The two stages are never in
//! one `netem`: its limit would count the packets under way as queued.

use tcpexp_host::Qdisc;
use tcpexp_units::{BitRate, Buffer, TimeDelta};

use super::aqm;
use super::check::{Check, Must, OptionFact, QdiscFact};
use super::size::{FULL_FRAME, FULL_PACKET, QueueSize};
use super::stab;
use super::tc::{
    FORWARD, GROUP, OFFLOADS, Own, POLICER, PRIORITIES, REVERSE, needs_netem, netem, netem_fixed,
    slots,
};
use super::{Object, Plan, PlanError, Step};
use crate::bottleneck::{Bottleneck, FlowDelay, Path, Prefix, Queue};
use crate::router::{Interface, Router};

/// A plan under construction.
#[derive(Default)]
struct Draft {
    apply: Vec<Step>,
    verify: Vec<Check>,
    objects: Vec<Object>,
}

pub(crate) fn plan(bottleneck: Bottleneck, router: &Router) -> Result<Plan, PlanError> {
    let mut draft = Draft::default();
    let mut queues = [None, None];
    let rtt = bottleneck.base_rtt();
    // Offloads are off before any queue counts packets.
    draft.offloads(router);
    // The plan deletes and adds, because `tc qdisc replace` fails for an `htb` that exists.
    draft.apply.extend(clear(router));
    let directions = [
        (FORWARD, &bottleneck.forward, &router.left, &router.right),
        (REVERSE, &bottleneck.reverse, &router.right, &router.left),
    ];
    for (own, path, enters, _) in &directions {
        draft.delay(own, path, enters);
    }
    for (own, path, _, leaves) in &directions {
        draft.policer(own, path, leaves);
    }
    for (size, (own, path, _, leaves)) in queues.iter_mut().zip(&directions) {
        *size = draft.rate(own, path, leaves, rtt)?;
    }
    Ok(Plan {
        router: router.clone(),
        clear: clear(router),
        apply: draft.apply,
        verify: draft.verify,
        objects: draft.objects,
        bottleneck,
        queues,
    })
}

/// Clears our parts only: roots by their handles, devices by their group.
pub(crate) fn clear(router: &Router) -> Vec<Step> {
    let Router { left, right, .. } = router;
    let mut steps = vec![
        Step::may_fail(&format!(
            "tc qdisc del dev {right} root handle {}",
            FORWARD.rate
        )),
        Step::may_fail(&format!(
            "tc qdisc del dev {left} root handle {}",
            REVERSE.rate
        )),
    ];
    for device in [left, right] {
        steps.push(Step::may_fail(&format!(
            "tc filter del dev {device} egress pref {POLICER}"
        )));
        for priority in PRIORITIES {
            steps.push(Step::may_fail(&format!(
                "tc filter del dev {device} ingress pref {priority}"
            )));
        }
        steps.push(Step::may_fail(&format!("tc qdisc del dev {device} clsact")));
    }
    // The devices go after the filters: a filter that redirects to a deleted device drops packets.
    steps.push(Step::may_fail(&format!("ip link del group {GROUP}")));
    steps
}

impl Draft {
    /// Turns offloads off: a merged packet would count as one packet in the queue and be lost as one.
    fn offloads(&mut self, router: &Router) {
        for device in [&router.left, &router.right] {
            // Old kernels do not know the last one, and ethtool would then change none.
            let [known @ .., (newest, _)] = &OFFLOADS;
            let words = known.iter().map(|(feature, _)| format!(" {feature} off"));
            let line = format!("ethtool -K {device}{}", words.collect::<String>());
            self.apply.push(Step::may_fail(&line));
            let line = format!("ethtool -K {device} {newest} off");
            self.apply.push(Step::may_fail(&line));
            self.verify.push(Check {
                argv: Step::of(&format!("ethtool -k {device}")).argv,
                must: Must::NoOffload {
                    device: device.to_string(),
                },
            });
        }
    }

    /// The delay devices of one direction and the filters that redirect packets to them.
    fn delay(&mut self, own: &Own, path: &Path, enters: &Interface) {
        if !needs_netem(path) {
            return;
        }
        let flows = path.flows.as_deref().unwrap_or_default();
        self.delay_device(own, own.device, path, path.delay.unwrap_or_default());
        // Each flow has its own device, so that each `netem` is a root: recent kernels refuse a
        // tree that mixes a duplicating `netem` with others.
        for (index, flow) in flows.iter().enumerate() {
            let device = format!("{}{}", own.device, index + 1);
            self.delay_device(own, &device, path, flow.delay);
        }
        self.hooks(enters);
        let mut redirects = Vec::new();
        for (index, flow) in flows.iter().enumerate() {
            let device = format!("{}{}", own.device, index + 1);
            for (priority, protocol, matches) in flow_filters(flow) {
                redirects.push((priority, protocol, matches, device.clone()));
            }
        }
        // A `u32` filter needs a match. A mask of 0 matches each packet of any protocol.
        let all = (PRIORITIES[2], "all", "match u32 0 0".to_owned());
        redirects.push((all.0, all.1, all.2, own.device.to_owned()));
        // The kernel tries filters by priority, then in the order of adding.
        redirects.sort_by_key(|(priority, ..)| *priority);
        for (priority, protocol, matches, device) in &redirects {
            self.apply.push(Step::of(&format!(
                "tc filter add dev {enters} ingress protocol {protocol} pref {priority} u32 \
                 {matches} action mirred egress redirect dev {device}"
            )));
        }
        self.objects.push(Object {
            // `tc filter replace` without a handle adds a second filter, so filters cannot change
            // in place.
            name: format!("the set of delayed flows {}", own.direction),
            fixed: redirects
                .iter()
                .map(|filter| format!("{filter:?}"))
                .collect(),
            change: None,
        });
        let to = |(priority, protocol, _, device): (u32, &str, String, String)| {
            (priority, protocol.to_owned(), device)
        };
        self.verify.push(Check {
            argv: Step::of(&format!("tc -j filter show dev {enters} ingress")).argv,
            must: Must::Redirects {
                device: enters.to_string(),
                to: redirects.into_iter().map(to).collect(),
            },
        });
    }

    /// The hooks that filters attach to. A delay stage and a policer of the other direction share those
    /// of an interface.
    fn hooks(&mut self, device: &Interface) {
        let step = Step::of(&format!("tc qdisc add dev {device} clsact"));
        if !self.apply.contains(&step) {
            self.apply.push(step);
        }
    }

    /// The policer of one direction: a filter before the queue.
    fn policer(&mut self, own: &Own, path: &Path, leaves: &Interface) {
        // `validate` requires a burst.
        let (Some(rate), Some(burst)) = (path.police, path.police_burst) else {
            return;
        };
        self.hooks(leaves);
        let burst = burst.as_bytes();
        let action = format!(
            "action police rate {rate} burst {burst} conform-exceed drop index {}",
            own.policer
        );
        self.apply.push(Step::of(&format!(
            "tc filter add dev {leaves} egress protocol all pref {POLICER} matchall {action}"
        )));
        self.objects.push(Object {
            name: format!("the policer {}", own.direction),
            fixed: Vec::new(),
            // The filter refers to the action by its number, and `matchall` itself cannot change.
            change: Some(Step::of(&format!("tc actions change {action}"))),
        });
        self.verify.push(Check {
            // The JSON of `tc` 6.1 leaves out the rate.
            argv: Step::of(&format!(
                "tc filter show dev {leaves} egress pref {POLICER}"
            ))
            .argv,
            must: Must::Policer {
                device: leaves.to_string(),
                rate,
                burst,
            },
        });
    }

    /// An `ifb` device with a delay stage.
    fn delay_device(&mut self, own: &Own, device: &str, path: &Path, delay: TimeDelta) {
        let (words, facts) = netem(path, delay);
        let add = format!(
            "tc qdisc add dev {device} root handle {} netem {words}",
            own.delay
        );
        self.apply.extend([
            Step::of(&format!("ip link add {device} group {GROUP} type ifb")),
            // Without an IPv6 address the device sends no packets of its own.
            Step::may_fail(&format!("ip link set dev {device} addrgenmode none")),
            Step::of(&format!("ip link set dev {device} txqueuelen 1000 up")),
            Step::of(&add),
        ]);
        self.objects.push(Object {
            // A change repeats each option, because `netem_change` overwrites limit, delay, loss
            // and duplication.
            name: format!("the delay stage {device}"),
            fixed: netem_fixed(path),
            change: Some(Step::of(&add.replacen(" add ", " change ", 1))),
        });
        self.qdiscs(device, vec![root(device, "netem", own.delay, facts)]);
    }

    /// Rate and queue of one direction.
    fn rate(
        &mut self,
        own: &Own,
        path: &Path,
        leaves: &Interface,
        rtt: TimeDelta,
    ) -> Result<Option<QueueSize>, PlanError> {
        if let Some(every) = path.slot {
            return self.slots(own, path, leaves, every, rtt).map(Some);
        }
        let Some(rate) = path.rate else {
            return Ok(None);
        };
        let full = path.link_bytes(FULL_PACKET);
        let size = path
            .buffer
            .map(|buffer| QueueSize::of(own.direction, buffer, rate, rtt, full))
            .transpose()?;
        if path.queue == Some(Queue::Cake) {
            self.cake(own, path, leaves, rate, size);
        } else {
            self.htb(own, path, leaves, rate, size);
        }
        Ok(size)
    }

    /// A slotted link: `netem` at the root, whose limit is the queue.
    fn slots(
        &mut self,
        own: &Own,
        path: &Path,
        leaves: &Interface,
        every: TimeDelta,
        rtt: TimeDelta,
    ) -> Result<QueueSize, PlanError> {
        // `validate` requires a buffer.
        let buffer = path.buffer.unwrap_or(Buffer::Packets(1));
        let rate = path.slot_rate().unwrap_or_default();
        let size = QueueSize::of(own.direction, buffer, rate, rtt, FULL_FRAME)?;
        let (words, facts) = slots(path, every, size.packets);
        let add = format!(
            "tc qdisc add dev {leaves} root handle {} netem {words}",
            own.rate
        );
        self.apply.push(Step::of(&add));
        self.objects.push(Object {
            name: format!("the slots {}", own.direction),
            // A change that names no packets or bytes keeps the old number.
            fixed: vec![format!(
                "{} {}",
                path.slot_packets.is_some(),
                path.slot_bytes.is_some()
            )],
            change: Some(Step::of(&add.replacen(" add ", " change ", 1))),
        });
        let device = leaves.as_str();
        self.qdiscs(device, vec![root(device, "netem", own.rate, facts)]);
        Ok(size)
    }

    /// `cake` shapes by itself; below another shaper it would be shaped twice.
    fn cake(
        &mut self,
        own: &Own,
        path: &Path,
        leaves: &Interface,
        rate: BitRate,
        size: Option<QueueSize>,
    ) {
        let leaf = aqm::leaf(path, rate, size);
        let add = format!(
            "tc qdisc add dev {leaves} root handle {} cake {}",
            own.rate, leaf.options
        );
        self.apply.push(Step::of(&add));
        self.objects.push(Object {
            name: format!("the queue {}", own.direction),
            // `cake` keeps a minimum size that a change does not name.
            fixed: vec!["cake".into(), format!("{:?}", path.framing())],
            change: Some(Step::of(&add.replacen(" add ", " change ", 1))),
        });
        let device = leaves.as_str();
        self.qdiscs(device, vec![root(device, "cake", own.rate, leaf.facts)]);
    }

    fn htb(
        &mut self,
        own: &Own,
        path: &Path,
        leaves: &Interface,
        rate: BitRate,
        size: Option<QueueSize>,
    ) {
        let leaf = aqm::leaf(path, rate, size);
        let queue = path.queue.unwrap_or(Queue::Pfifo);
        let burst = burst(rate, path.link_bytes(FULL_PACKET));
        let (table, table_facts) = stab::size_table(path);
        // Without a quantum, `htb` derives it from the rate, and the kernel warns of a large quantum.
        let class = format!(
            "dev {leaves} parent {handle} classid {handle}10 htb rate {rate} ceil {rate} burst \
             {burst} cburst {burst} quantum {FULL_FRAME}",
            handle = own.rate
        );
        let below = format!(
            "dev {leaves} parent {}10 handle {} {queue}",
            own.rate, own.queue
        );
        self.apply.extend([
            Step::of(&format!(
                // `htb` sends packets without a class unshaped, so all packets get class 10.
                "tc qdisc add dev {leaves} root handle {} {table}htb default 10",
                own.rate
            )),
            Step::of(&format!("tc class add {class}")),
            Step::of(&format!("tc qdisc add {below} {}", leaf.options)),
        ]);
        self.objects.push(Object {
            name: format!("the rate {}", own.direction),
            // The size table belongs to the root, which only a new root replaces.
            fixed: vec![table],
            change: Some(Step::of(&format!("tc class change {class}"))),
        });
        let change = format!("tc qdisc change {below} {}", leaf.changeable);
        self.objects.push(Object {
            name: format!("the queue {}", own.direction),
            fixed: vec![queue.to_string(), leaf.fixed, aqm::unremovable(path)],
            change: (!leaf.changeable.is_empty()).then(|| Step::of(&change)),
        });
        let device = leaves.as_str();
        // `tc` reads the number of a class as hexadecimal, and prints it with 0x.
        let mut shaper = vec![OptionFact::word("default", "0x10")];
        shaper.extend(table_facts);
        let mut facts = vec![root(device, "htb", own.rate, shaper)];
        facts.push(QdiscFact {
            parent: Some(format!("{}10", own.rate)),
            ..root(device, queue.name(), own.queue, leaf.facts)
        });
        self.qdiscs(device, facts);
        self.verify.push(Check {
            argv: Step::of(&format!("tc -j class show dev {leaves}")).argv,
            must: Must::Class {
                device: leaves.to_string(),
                id: format!("{}10", own.rate),
                rate,
            },
        });
    }

    fn qdiscs(&mut self, device: &str, facts: Vec<QdiscFact>) {
        // `tc` prints size tables only in detail.
        let mut options = facts.iter().flat_map(|fact| &fact.options);
        let has_table = options.any(|option| option.path.starts_with(Qdisc::SIZE_TABLE));
        let detail = if has_table { "-d " } else { "" };
        self.verify.push(Check {
            argv: Step::of(&format!("tc -j -s {detail}qdisc show dev {device}")).argv,
            must: Must::Qdiscs(facts),
        });
    }
}

fn root(device: &str, kind: &str, handle: &str, options: Vec<OptionFact>) -> QdiscFact {
    QdiscFact {
        device: device.to_owned(),
        kind: kind.to_owned(),
        handle: handle.to_owned(),
        parent: None,
        options,
    }
}

/// Assumed lateness of the kernel's timers, which the burst makes up for. A longer one would let
/// longer trains of packets leave at line rate.
const TIMER_SLACK: TimeDelta = TimeDelta::from_micros(250);

/// Burst of the rate stage in bytes: the bytes of [`TIMER_SLACK`], at least two full packets, since
/// `tc` rounds bursts down and less than a packet stalls the class.
fn burst(rate: BitRate, full: u64) -> u64 {
    let timer = rate.bytes_in(TIMER_SLACK).as_bytes();
    timer.max(2 * full)
}

/// The filters of a flow: priority, protocol and match.
fn flow_filters(flow: &FlowDelay) -> Vec<(u32, &'static str, String)> {
    let prefixes = [flow.source, flow.destination];
    let is_ipv6 = prefixes.iter().flatten().next().map(Prefix::is_ipv6);
    let families = [
        (false, PRIORITIES[0], "ip", "ip"),
        (true, PRIORITIES[1], "ipv6", "ip6"),
    ];
    // `u32` matches bytes of a single kind of header, so a flow of ports only needs a filter for
    // each IP version.
    let fitting = families
        .into_iter()
        .filter(|(family, ..)| is_ipv6.is_none_or(|is_ipv6| is_ipv6 == *family));
    fitting
        .map(|(_, priority, protocol, word)| {
            let address = |place, prefix| format!("match {word} {place} {prefix}");
            let port = |place, port| format!("match {word} {place} {port} 0xffff");
            let matches: Vec<String> = [
                flow.source.map(|prefix| address("src", prefix)),
                flow.destination.map(|prefix| address("dst", prefix)),
                flow.source_port.map(|number| port("sport", number)),
                flow.destination_port.map(|number| port("dport", number)),
            ]
            .into_iter()
            .flatten()
            .collect();
            (priority, protocol, matches.join(" "))
        })
        .collect()
}
