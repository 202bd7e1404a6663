//! Rate and queue at the interface that packets leave by.

use tcpexp_units::{BitRate, Buffer, TimeDelta};

use super::{Draft, root};
use crate::bottleneck::{Path, Queue, Trace};
use crate::plan::check::{Check, Must, OptionFact, QdiscFact};
use crate::plan::size::QueueSize;
use crate::plan::tc::{Own, slots};
use crate::plan::trace::TraceLink;
use crate::plan::{Object, PlanError, Step, aqm, red, stab};
use crate::router::Interface;

impl Draft {
    /// Rate and queue of one direction.
    pub(super) fn rate(
        &mut self,
        own: &Own,
        path: &Path,
        leaves: &Interface,
        rtt: TimeDelta,
    ) -> Result<Option<QueueSize>, PlanError> {
        if let Some(every) = path.slot {
            return self.slots(own, path, leaves, every, rtt).map(Some);
        }
        if let Some(trace) = &path.trace {
            return self.trace(own, path, trace, leaves, rtt).map(Some);
        }
        let Some(rate) = path.rate else {
            return Ok(None);
        };
        let full = path.link_bytes(path.full_packet());
        let size = path
            .buffer
            .map(|buffer| QueueSize::of(own.direction, buffer, rate, rtt, full))
            .transpose()?;
        aqm::check_room(own.direction, path, size)?;
        if let Some(size) = size {
            red::check(own.direction, path, size.bytes)?;
            red::check_linux(own.direction, path, rate, size.bytes)?;
        }
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
        let size = QueueSize::of(own.direction, buffer, rate, rtt, path.full_frame())?;
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

    /// A link that follows a trace: the filter of `prio` stamps packets with the time at which they
    /// leave, and `fq` holds them until then.
    fn trace(
        &mut self,
        own: &Own,
        path: &Path,
        trace: &Trace,
        leaves: &Interface,
        rtt: TimeDelta,
    ) -> Result<QueueSize, PlanError> {
        // `validate` requires a buffer and a trace that has been read.
        let buffer = path.buffer.unwrap_or(Buffer::Packets(1));
        let rate = trace.mean_rate().unwrap_or_default();
        let size = QueueSize::of(own.direction, buffer, rate, rtt, path.full_frame())?;
        let limit = u32::try_from(size.packets).unwrap_or(u32::MAX);
        let link = TraceLink::new(trace, limit);
        let Own { rate, queue, .. } = own;
        // The filter drops what exceeds the queue, so `fq` needs room for all of it, and for packets
        // whose time has just come.
        let room = size.packets + FQ_RESERVE;
        self.apply.extend([
            Step::of(&format!(
                "tc qdisc add dev {leaves} root handle {rate} prio bands 2 priomap {ONE_BAND}"
            )),
            Step::of(&format!(
                "tc qdisc add dev {leaves} parent {rate}1 handle {queue} fq limit {room} \
                 flow_limit {room} horizon {HORIZON}"
            )),
            link.attach("add", leaves, rate),
        ]);
        self.objects.push(Object {
            name: format!("the trace {}", own.direction),
            fixed: vec![room.to_string()],
            change: Some(link.attach("replace", leaves, rate)),
        });
        let device = leaves.as_str();
        let held = vec![
            OptionFact::count("limit", room),
            OptionFact::count("flow_limit", room),
        ];
        let mut facts = vec![root(
            device,
            "prio",
            rate,
            vec![OptionFact::count("bands", 2)],
        )];
        facts.push(QdiscFact {
            parent: Some(format!("{rate}1")),
            ..root(device, "fq", queue, held)
        });
        self.qdiscs(device, facts);
        self.verify.push(Check {
            argv: Step::of(&format!("tc filter show dev {leaves} parent {rate}")).argv,
            must: Must::TraceLink {
                device: device.to_owned(),
                name: link.name.clone(),
            },
        });
        self.links.extend(link.file());
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
            fixed: vec![
                "cake".into(),
                format!("{:?}", path.framing()),
                aqm::unremovable(path),
            ],
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
        let burst = burst(rate, path.link_bytes(path.full_packet()));
        let (table, table_facts) = stab::size_table(path);
        // Without a quantum, `htb` derives it from the rate, and the kernel warns of a large quantum.
        let class = format!(
            "dev {leaves} parent {handle} classid {handle}10 htb rate {rate} ceil {rate} burst \
             {burst} cburst {burst} quantum {}",
            path.full_frame(),
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
}

/// The priority map of `prio` with all packets in the first band.
const ONE_BAND: &str = "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0";

/// Packets that `fq` may hold beyond the queue of a trace: those whose time comes while its timer is late.
const FQ_RESERVE: u64 = 1_000;

/// The longest time that `fq` holds a packet: more than an hour, the longest trace.
const HORIZON: &str = "4000s";

/// Assumed lateness of the kernel's timers, which the burst makes up for. A longer one would let
/// longer trains of packets leave at line rate.
const TIMER_SLACK: TimeDelta = TimeDelta::from_micros(250);

/// Burst of the rate stage in bytes: the bytes of [`TIMER_SLACK`], at least two full packets, since
/// `tc` rounds bursts down and less than a packet stalls the class.
fn burst(rate: BitRate, full: u64) -> u64 {
    let timer = rate.bytes_in(TIMER_SLACK).as_bytes();
    timer.max(2 * full)
}
