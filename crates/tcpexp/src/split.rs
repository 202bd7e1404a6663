//! Cutting a capture into parts by flows.

use std::io::{self, Write};
use std::num::NonZeroU32;

use tcpexp_capture::{
    Interface, NoTime, PART_VERSION, PartEnd, PartHead, PartMark, PcapngWriter, Record,
};
use tcpexp_flow::{Arrival, FlowShard, FlowTable};
use tcpexp_units::{TimeDelta, Timestamp};
use tcpexp_wire::{LinkType, Tunnels, decode};

use crate::order::Window;
use crate::{Error, Recording};

/// Options of [`split`](fn@split).
#[derive(Clone, Copy, Debug)]
pub struct SplitOptions {
    /// Number of parts.
    pub parts: NonZeroU32,
    /// Whether the flows are those inside tunnels.
    pub tunnels: Tunnels,
}

/// Result of [`split`](fn@split).
#[derive(Debug)]
pub struct SplitReport<W> {
    /// The parts in order.
    pub parts: Vec<SplitPart<W>>,
    /// Number of records without a time, which no part has.
    pub left_out: u64,
    /// The first damage of the capture.
    pub damage: Option<String>,
}

impl<W> SplitReport<W> {
    /// Completes the outputs with `finish`, once all parts have been written.
    pub fn try_map<T, E>(
        self,
        mut finish: impl FnMut(W) -> Result<T, E>,
    ) -> Result<SplitReport<T>, E> {
        let finished = |part: SplitPart<W>| {
            Ok(SplitPart {
                shard: part.shard,
                out: finish(part.out)?,
                records: part.records,
                flows: part.flows,
            })
        };
        Ok(SplitReport {
            parts: self
                .parts
                .into_iter()
                .map(finished)
                .collect::<Result<_, E>>()?,
            left_out: self.left_out,
            damage: self.damage,
        })
    }
}

/// A part that has been written.
#[derive(Debug)]
pub struct SplitPart<W> {
    /// The part.
    pub shard: FlowShard,
    /// The output, with all of its bytes.
    pub out: W,
    /// Number of records.
    pub records: u64,
    /// Number of flows.
    pub flows: u64,
}

/// Writes the records of each part of the flows to an output of its own, as pcapng, in one pass.
///
/// A flow belongs to the part of [`FlowShard`]; records of no flow belong to the first part. A
/// measurement of one part has the rows of the same [shard](crate::CaptureOptions::shard) of the whole
/// capture: the parts have the record numbers and the flow numbers of the whole capture.
///
/// `create` opens the output of a part. Records without a time are left out.
pub fn split<W: Write, E: From<Error> + From<io::Error>>(
    recording: &Recording,
    options: SplitOptions,
    mut create: impl FnMut(FlowShard) -> Result<W, E>,
) -> Result<SplitReport<W>, E> {
    recording.require_no_part()?;
    let head = PartHead {
        version: PART_VERSION,
        number: 0,
        count: options.parts.get(),
        inner: options.tunnels == Tunnels::Entered,
        max_flows: recording.flow_limit().get() as u64,
        records_per_packet: recording.records_per_packet(options.tunnels)?,
        coarse_tick_ns: recording.coarse_tick()?.map(TimeDelta::as_nanos),
        name: recording.name().display().to_string(),
    };
    let mut parts = Vec::new();
    for number in 1..=options.parts.get() {
        let Some(shard) = FlowShard::new(number, options.parts.get()) else {
            continue;
        };
        let head = PartHead {
            number,
            ..head.clone()
        };
        parts.push(Part::create(create(shard)?, shard, &head)?);
    }
    let was_out_of_order = recording.is_out_of_order()?;
    let mut cut = Cut {
        parts,
        table: FlowTable::default().with_max_flows(recording.flow_limit()),
        part_of_slot: Vec::new(),
        interfaces: Vec::new(),
        tunnels: options.tunnels,
        window: was_out_of_order.then(Window::default),
        latest: Timestamp::MIN,
        records: 0,
        no_time: 0,
        time_out_of_range: 0,
    };
    let described = recording.each_described(|record, interface| {
        let place = cut.interface(record.interface, interface);
        let record = Record {
            interface: place,
            ..*record
        };
        cut.add(&record).map_err(E::from)
    })?;
    cut.finish_order()?;
    let end = PartEnd {
        flows: cut.table.flows_seen().into(),
        is_late_out_of_order: !was_out_of_order && cut.window.is_some(),
        no_time: cut.no_time,
        time_out_of_range: cut.time_out_of_range,
        damage: described.damage.clone(),
        damaged_places: described.damaged_places,
    };
    let mut written = Vec::new();
    for part in cut.parts {
        written.push(part.finish(&described.interfaces, cut.latest, &end)?);
    }
    Ok(SplitReport {
        parts: written,
        left_out: end.no_time + end.time_out_of_range,
        damage: described.damage,
    })
}

/// A part that is being written.
struct Part<W> {
    shard: FlowShard,
    writer: PcapngWriter<W>,
    records: u64,
    flows: u64,
    /// Flows that have ended since the last packet.
    ended: Vec<u32>,
}

impl<W: Write> Part<W> {
    fn create(out: W, shard: FlowShard, head: &PartHead) -> io::Result<Self> {
        let mut writer = PcapngWriter::new(out)?;
        writer.part_head(head)?;
        Ok(Self {
            shard,
            writer,
            records: 0,
            flows: 0,
            ended: Vec::new(),
        })
    }

    fn finish(
        mut self,
        interfaces: &[Interface],
        at: Timestamp,
        end: &PartEnd,
    ) -> io::Result<SplitPart<W>> {
        for (place, interface) in interfaces.iter().enumerate() {
            // The counters are those of the interface, whatever the file holds of its packets.
            if interface.received.is_some() || interface.dropped.is_some() {
                self.writer.statistics((place, interface), at)?;
            }
        }
        self.writer.part_end(end)?;
        Ok(SplitPart {
            shard: self.shard,
            out: self.writer.into_inner(),
            records: self.records,
            flows: self.flows,
        })
    }
}

/// A capture that is being cut.
struct Cut<W> {
    parts: Vec<Part<W>>,
    table: FlowTable,
    /// Index of the part of each live flow.
    part_of_slot: Vec<u32>,
    /// The interfaces of all files, each with its number in its file.
    interfaces: Vec<(u32, Interface)>,
    tunnels: Tunnels,
    /// Sorts the records as a pass over the capture does: from the first record that is out of order,
    /// or from the start if one of the first records is.
    window: Option<Window>,
    latest: Timestamp,
    /// Number of records so far.
    records: u64,
    no_time: u64,
    time_out_of_range: u64,
}

impl<W: Write> Cut<W> {
    /// Place of an interface among those of all files. Files of one capture repeat their interfaces.
    fn interface(&mut self, number: u32, interface: &Interface) -> u32 {
        let is_it = |(known_number, known): &(u32, Interface)| {
            *known_number == number
                && known.link_type == interface.link_type
                && known.snaplen == interface.snaplen
                && known.name == interface.name
        };
        let place = self.interfaces.iter().position(is_it).unwrap_or_else(|| {
            self.interfaces.push((number, interface.clone()));
            self.interfaces.len() - 1
        });
        u32::try_from(place).expect("fewer interfaces than records")
    }

    /// Adds the next record of the file.
    fn add(&mut self, record: &Record<'_>) -> io::Result<()> {
        let number = self.records;
        self.records += 1;
        let Ok(at) = record.at else {
            return self.write(number, 0, record);
        };
        if let Some(mut window) = self.window.take() {
            window.push(number, at, record);
            let written = if window.is_full() {
                self.write_earliest(&mut window)
            } else {
                Ok(true)
            };
            self.window = Some(window);
            return written.map(|_| ());
        }
        self.write(number, 0, record)?;
        if at < self.latest {
            self.window = Some(Window::default());
        }
        self.latest = self.latest.max(at);
        Ok(())
    }

    /// Writes the records that wait for later ones.
    fn finish_order(&mut self) -> io::Result<()> {
        if let Some(mut window) = self.window.take() {
            while self.write_earliest(&mut window)? {}
            self.window = Some(window);
        }
        Ok(())
    }

    /// Writes the earliest record of the window; returns false if there is none.
    fn write_earliest(&mut self, window: &mut Window) -> io::Result<bool> {
        window.pop();
        let Some((number, record)) = window.taken() else {
            return Ok(false);
        };
        self.latest = self.latest.max(record.at.unwrap_or(self.latest));
        self.write(number, window.moved(), &record)?;
        Ok(true)
    }

    /// Writes a record to its part. For `moved`, see [`PartMark::moved`].
    fn write(&mut self, number: u64, moved: i32, record: &Record<'_>) -> io::Result<()> {
        let mut mark = PartMark {
            record: number,
            moved,
            ..PartMark::default()
        };
        let part = match record.at {
            Err(NoTime::Missing) => {
                self.no_time += 1;
                return Ok(());
            }
            Err(NoTime::OutOfRange) => {
                self.time_out_of_range += 1;
                return Ok(());
            }
            Err(NoTime::Outlier(_)) => {
                mark.is_outlier = true;
                0
            }
            Ok(at) => self.part_of(number, at, record, &mut mark).unwrap_or(0),
        };
        let part = &mut self.parts[part];
        part.records += 1;
        part.flows += u64::from(mark.begins.is_some());
        let (place, interface) = &self.interfaces[record.interface as usize];
        let interface = (*place as usize, interface);
        part.writer.record(record, interface, Some(&mark))
    }

    /// Index of the part of a record's packet; `None` if it has none. Notes in `mark` which flows begin
    /// and end: an analysis reads that of packets only.
    fn part_of(
        &mut self,
        number: u64,
        at: Timestamp,
        record: &Record<'_>,
        mark: &mut PartMark,
    ) -> Option<usize> {
        let link = LinkType(record.link_type);
        let packet = decode(link, record.captured, record.wire_bytes, self.tunnels).ok()?;
        let mut arrival = Arrival::new(number, at, record.wire_bytes, &packet);
        let tracked = self.table.place(&mut arrival);
        let Self {
            table,
            parts,
            part_of_slot,
            ..
        } = self;
        // Before the slot of an ended flow is used again.
        table.drain_ended(|slot, flow| {
            let part = part_of_slot[slot.index()] as usize;
            parts[part].ended.push(flow.id.0);
        });
        let slot = tracked.slot.index();
        if tracked.is_first {
            let flow = table.flow(tracked.slot);
            if part_of_slot.len() <= slot {
                part_of_slot.resize(slot + 1, 0);
            }
            let count = parts[0].shard.parts();
            let (a, b) = (flow.initiator(), flow.responder());
            part_of_slot[slot] = FlowShard::of(count, flow.key.protocol(), a, b).number() - 1;
            mark.begins = Some((flow.id.0, flow.continues.map(|before| before.0)));
        }
        let part = part_of_slot[slot] as usize;
        mark.ended = std::mem::take(&mut parts[part].ended);
        Some(part)
    }
}
