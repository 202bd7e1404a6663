//! Linux: the delay on a device of its own before the router, rate and queue at the interface that
//! packets leave by.
//!
//! Packets that enter the router are redirected to an `ifb` device whose root is the delay stage;
//! rate and queue are at the root of the interface that they leave by. The two stages are never in
//! one `netem`: its limit would count the packets under way as queued.

mod rate;

use tcpexp_host::Qdisc;
use tcpexp_units::TimeDelta;

use super::aqm::RED_PROBABILITY;
use super::check::{Check, Must, OptionFact, QdiscFact};
use super::tc::{
    FORWARD, GROUP, OFFLOADS, Own, POLICER, PRIORITIES, REVERSE, needs_netem, netem, netem_change,
    netem_fixed,
};
use super::{LinkFile, Object, Plan, PlanError, Step};
use crate::bottleneck::{Bottleneck, FlowDelay, Path, Prefix};
use crate::router::{Interface, Router};

/// A plan under construction.
#[derive(Default)]
struct Draft {
    apply: Vec<Step>,
    verify: Vec<Check>,
    objects: Vec<Object>,
    links: Vec<LinkFile>,
}

pub(crate) fn plan(
    bottleneck: Bottleneck,
    router: &Router,
    base_rtt: TimeDelta,
) -> Result<Plan, PlanError> {
    let mut draft = Draft::default();
    let mut queues = [None, None];
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
        *size = draft.rate(own, path, leaves, base_rtt)?;
    }
    Ok(Plan {
        router: router.clone(),
        clear: clear(router),
        apply: draft.apply,
        verify: draft.verify,
        objects: draft.objects,
        files: draft.links,
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
            // Old kernels lack the last one, and ethtool would then change none of them.
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
            // A change repeats each option, because the kernel overwrites limit, delay, loss and
            // duplication (`netem_change`).
            name: format!("the delay stage {device}"),
            fixed: netem_fixed(path),
            change: Some(Step::of(&format!(
                "tc qdisc change dev {device} root handle {} netem {}",
                own.delay,
                netem_change(path, delay)
            ))),
        });
        self.qdiscs(device, vec![root(device, "netem", own.delay, facts)]);
    }

    fn qdiscs(&mut self, device: &str, facts: Vec<QdiscFact>) {
        // `tc` prints size tables and the probability of `red` only in detail.
        let mut options = facts.iter().flat_map(|fact| &fact.options);
        let is_detail = |path: &str| path.starts_with(Qdisc::SIZE_TABLE) || path == RED_PROBABILITY;
        let has_details = options.any(|option| is_detail(option.path));
        let detail = if has_details { "-d " } else { "" };
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
