//! FreeBSD: `ipfw` rules that send packets through dummynet's pipes.
//!
//! Packets pass the rules on their way out: first the pipe with the delay, then the pipe with rate
//! and queue. Both rules match `out` only, because a forwarded packet passes the rules on input and
//! on output. All rules are in one set of ours, so clearing never flushes other rules.

use tcpexp_units::{BitRate, TimeDelta};

use super::check::{Check, Must};
use super::dummynet::{flow_queue_words, queue_words, shown_queue};
use super::size::QueueSize;
use super::{Object, Plan, PlanError, Step};
use crate::bottleneck::{Bottleneck, FlowDelay, Loss, MAX_FLOWS, Path, Prefix, Queue};
use crate::router::{Interface, Router};

/// The set of all our rules.
pub(crate) const SET: u32 = 17;

/// Dummynet numbers of one direction: pipe, queue and scheduler of the bottleneck at `base`, then
/// the delay pipe, then the delay pipes of flows. The rules use the same numbers.
struct Own {
    direction: &'static str,
    base: u32,
}

const DIRECTIONS: [Own; 2] = [
    Own {
        direction: "forward",
        base: 7_100,
    },
    Own {
        direction: "reverse",
        base: 7_300,
    },
];

/// Size of the number range of a direction.
const SPAN: u32 = 200;

/// Slots of a delay pipe. It has no rate, so no packets queue in it.
const DELAY_SLOTS: u64 = 10_000;

/// Smallest values that we set dummynet's limits on slots and bytes to; its defaults are 100 and 1 MiB.
const SLOT_LIMIT: u64 = 20_000;
const BYTE_LIMIT: u64 = 32 << 20;

/// Refuses paths that dummynet cannot emulate.
pub(crate) fn check(direction: &'static str, path: &Path) -> Result<(), PlanError> {
    let refuse = |key, instead| {
        Err(PlanError::Unsupported {
            direction,
            key,
            os: "dummynet",
            instead,
        })
    };
    for (key, is_set) in [
        ("linklayer", path.linklayer.is_some()),
        ("overhead", path.overhead.is_some()),
    ] {
        if is_set {
            return refuse(key, "it counts IP packets: lower the rate");
        }
    }
    if path.police.is_some() {
        return refuse(
            "police",
            "it has no policer: a queue with a small buffer drops too",
        );
    }
    if path.slot.is_some() {
        return refuse("slot", "it sends packets one by one, at a rate");
    }
    if path.trace.is_some() {
        return refuse("trace", "its rate is constant");
    }
    let happens = path.without_zeros();
    if happens.jitter.is_some() {
        return refuse("jitter", "its delays are constant");
    }
    if happens.reorder.is_some() {
        return refuse("reorder", "it keeps the order");
    }
    if happens.duplicate.is_some() {
        return refuse("duplicate", "it copies no packets");
    }
    if path.ce_threshold.is_some() {
        return refuse("ce_threshold", "its CoDel marks by its target only");
    }
    if matches!(path.queue, Some(Queue::Cake | Queue::Sfq)) {
        return refuse(
            "queue",
            "it has pfifo, bfifo, red, codel, fq_codel, pie and fq_pie",
        );
    }
    let flows = path.flows.iter().flatten().map(|flow| flow.delay);
    let mut delays = path.delay.into_iter().chain(flows);
    if delays.any(|delay| delay.as_nanos() % 1_000_000 != 0) {
        return refuse("delay", "its delays are whole milliseconds");
    }
    Ok(())
}

pub(crate) fn plan(
    bottleneck: Bottleneck,
    router: &Router,
    base_rtt: TimeDelta,
) -> Result<Plan, PlanError> {
    let mut queues = [None, None];
    let mut draft = Draft::default();
    let paths = [
        (&bottleneck.forward, &router.right),
        (&bottleneck.reverse, &router.left),
    ];
    for (own, (path, leaves)) in DIRECTIONS.iter().zip(paths) {
        draft.delay(own, path, leaves);
    }
    for (size, (own, (path, leaves))) in queues.iter_mut().zip(DIRECTIONS.iter().zip(paths)) {
        *size = draft.rate(own, path, leaves, base_rtt)?;
    }
    draft.settings(&queues);
    // ipfw runs and prints rules by number, so the comparison needs the same order.
    draft.rules.sort_by_key(|(number, _)| *number);
    let mut apply = clear();
    // The limits precede the pipes, whose queues may exceed the default limits.
    apply.extend(draft.settings);
    apply.extend(draft.pipes);
    // The rules come last: dummynet drops packets that a rule sends to a pipe that does not exist.
    for (number, rule) in &draft.rules {
        apply.push(Step::of(&format!("ipfw -q add {number} set {SET} {rule}")));
    }
    draft.verify.push(Check {
        argv: Step::of(&format!("ipfw set {SET} list")).argv,
        must: Must::Rules(draft.rules.iter().map(|(_, rule)| rule.clone()).collect()),
    });
    draft.objects.push(Object {
        name: "the set of rules".into(),
        fixed: draft.rules.into_iter().map(|(_, rule)| rule).collect(),
        change: None,
    });
    Ok(Plan {
        router: router.clone(),
        apply,
        verify: draft.verify,
        clear: clear(),
        objects: draft.objects,
        files: Vec::new(),
        bottleneck,
        queues,
    })
}

/// Clears our rules by their set and the pipes by their numbers. It never flushes, because a flush
/// would also remove the rules that permit our connection.
pub(crate) fn clear() -> Vec<Step> {
    // The rules go first: a rule without its pipe would drop packets.
    let mut steps = vec![Step::may_fail(&format!("ipfw -q delete set {SET}"))];
    for own in &DIRECTIONS {
        let number = own.base + 1;
        let delays = own.base + 10..=own.base + 10 + MAX_FLOWS;
        let delays: Vec<String> = delays.map(|number| number.to_string()).collect();
        steps.extend([
            Step::may_fail(&format!("ipfw -q queue delete {number}")),
            Step::may_fail(&format!("ipfw -q sched delete {number}")),
            Step::may_fail(&format!(
                "ipfw -q pipe delete {number} {}",
                delays.join(" ")
            )),
        ]);
    }
    steps
}

#[derive(Default)]
struct Draft {
    settings: Vec<Step>,
    pipes: Vec<Step>,
    rules: Vec<(u32, String)>,
    verify: Vec<Check>,
    objects: Vec<Object>,
}

impl Draft {
    /// Kernel variables: packets return to the rules after a pipe, pass empty pipes too, and the limits
    /// of queues are large enough.
    fn settings(&mut self, queues: &[Option<QueueSize>; 2]) {
        let most = |of: fn(&QueueSize) -> u64| queues.iter().flatten().map(of).max().unwrap_or(0);
        let slots = most(|size| size.packets).max(SLOT_LIMIT);
        let bytes = most(|size| size.bytes).max(BYTE_LIMIT);
        let exact = [
            ("net.inet.ip.fw.one_pass", 0),
            ("net.inet.ip.dummynet.io_fast", 0),
        ];
        let least = [
            ("net.inet.ip.dummynet.pipe_slot_limit", slots),
            ("net.inet.ip.dummynet.pipe_byte_limit", bytes),
        ];
        // dummynet rounds delays up to ticks; kern.hz is set at boot.
        let mut checks = vec![("kern.hz", 1_000, false)];
        for (name, value) in exact {
            self.settings
                .push(Step::of(&format!("sysctl {name}={value}")));
            checks.push((name, value, true));
        }
        for (name, value) in least {
            self.settings
                .push(Step::of(&format!("sysctl {name}={value}")));
            checks.push((name, value, false));
        }
        for (name, value, exact) in checks {
            let name = name.to_owned();
            self.verify.push(Check {
                argv: Step::of(&format!("sysctl -n {name}")).argv,
                must: Must::Setting { name, value, exact },
            });
        }
    }

    fn delay(&mut self, own: &Own, path: &Path, leaves: &Interface) {
        let delay = path.delay.unwrap_or_default();
        let flows = path.flows.as_deref().unwrap_or_default();
        // A loss of 0 % keeps its pipe, because a change may raise it.
        if delay == TimeDelta::ZERO && path.loss.is_none() && flows.is_empty() {
            return;
        }
        let default = own.base + 10;
        let bottleneck = own.base + SPAN - 1;
        for (index, flow) in (1..).zip(flows) {
            // Each flow takes two rule numbers, up to base + 61, below the rules for all packets.
            let (number, rule) = (default + index, own.base + 2 * index);
            self.delay_pipe(number, path, flow.delay);
            let what = flow_match(flow, leaves);
            self.rules.push((rule, format!("pipe {number} {what}")));
            // After its pipe a packet continues with the next rule, which skips the other delays.
            self.rules
                .push((rule + 1, format!("skipto {bottleneck} {what}")));
        }
        self.delay_pipe(default, path, delay);
        let all = format!("pipe {default} ip from any to any out via {leaves}");
        self.rules.push((bottleneck - 1, all));
    }

    fn delay_pipe(&mut self, number: u32, path: &Path, delay: TimeDelta) {
        let happens = path.without_zeros();
        let loss = match happens.loss {
            None => String::new(),
            Some(Loss::Random(share)) => format!(" plr {}", share.as_f64()),
            Some(Loss::Bursts(model)) => format!(
                " plr {},{},{},{}",
                model.in_good.as_f64(),
                model.enter_bad.as_f64(),
                model.in_bad.as_f64(),
                model.leave_bad.as_f64()
            ),
        };
        let millis = delay.as_nanos() / 1_000_000;
        let config = format!(
            "ipfw -q pipe {number} config delay {millis} queue {DELAY_SLOTS}{loss} noerror"
        );
        self.pipe(number, &config, String::new());
        let words = match happens.loss {
            Some(Loss::Random(_)) => vec!["plr".to_owned()],
            _ => Vec::new(),
        };
        self.verify_pipe(number, None, delay, words);
    }

    fn rate(
        &mut self,
        own: &Own,
        path: &Path,
        leaves: &Interface,
        rtt: TimeDelta,
    ) -> Result<Option<QueueSize>, PlanError> {
        let Some(rate) = path.rate else {
            return Ok(None);
        };
        let size = path
            .buffer
            // Pipes count IP packets (`dummynet_io`: `m_pkthdr.len`).
            .map(|buffer| QueueSize::of(own.direction, buffer, rate, rtt, path.full_packet()))
            .transpose()?;
        if let Some(size) = size {
            super::red::check(own.direction, path, size.bytes)?;
        }
        let queue = path.queue.unwrap_or(Queue::Pfifo);
        let number = own.base + 1;
        let bps = rate.as_bps();
        // dummynet has fq_codel and fq_pie as schedulers, which need a pipe for the rate and a
        // queue for the packets.
        let way = if matches!(queue, Queue::FqCodel | Queue::FqPie) {
            let pipe = format!("ipfw -q pipe {number} config bw {bps}bit/s noerror");
            self.pipe(number, &pipe, queue.to_string());
            let scheduler = format!(
                "ipfw -q sched {number} config pipe {number} type {queue} {}",
                flow_queue_words(path, queue, size)
            );
            self.object(
                &format!("the scheduler {number}"),
                &scheduler,
                queue.to_string(),
            );
            let flow_set = format!("ipfw -q queue {number} config sched {number}");
            self.object(&format!("the queue {number}"), &flow_set, String::new());
            "queue"
        } else {
            let room = queue_words(path, queue, size);
            let pipe = format!("ipfw -q pipe {number} config bw {bps}bit/s {room}");
            self.pipe(number, &pipe, queue.to_string());
            "pipe"
        };
        let rule = format!("{way} {number} ip from any to any out via {leaves}");
        self.rules.push((own.base + SPAN - 1, rule));
        let words = shown_queue(queue, size);
        self.verify_pipe(number, Some(rate), TimeDelta::ZERO, words);
        Ok(size)
    }

    fn pipe(&mut self, number: u32, config: &str, fixed: String) {
        self.object(&format!("the pipe {number}"), config, fixed);
    }

    /// Dummynet changes an existing part in place when it is configured again.
    fn object(&mut self, name: &str, config: &str, fixed: String) {
        let step = Step::of(config);
        self.pipes.push(step.clone());
        self.objects.push(Object {
            name: name.to_owned(),
            fixed: vec![fixed],
            change: Some(step),
        });
    }

    fn verify_pipe(
        &mut self,
        number: u32,
        rate: Option<BitRate>,
        delay: TimeDelta,
        words: Vec<String>,
    ) {
        self.verify.push(Check {
            argv: Step::of(&format!("ipfw pipe {number} show")).argv,
            must: Must::Pipe {
                number,
                rate,
                delay,
                words,
            },
        });
    }
}

/// The match of a rule for a flow that leaves by an interface.
fn flow_match(flow: &FlowDelay, leaves: &Interface) -> String {
    let end = |prefix: Option<Prefix>| prefix.map_or("any".to_owned(), |prefix| prefix.to_string());
    let is_ipv6 = [flow.source, flow.destination]
        .iter()
        .flatten()
        .any(Prefix::is_ipv6);
    let protocol = if is_ipv6 { "ip6" } else { "ip" };
    let port =
        |word, port: Option<u16>| port.map_or(String::new(), |port| format!(" {word} {port}"));
    format!(
        "{protocol} from {} to {} out via {leaves}{}{}",
        end(flow.source),
        end(flow.destination),
        port("src-port", flow.source_port),
        port("dst-port", flow.destination_port)
    )
}
