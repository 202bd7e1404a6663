//! The packets of a flow, with what is inferred from each.

mod collected;
mod focus;

use std::collections::HashSet;

use tcpexp_capture::{PartMark, Record};
use tcpexp_flow::{Datagram, Flow, FlowId, Protocol, Segment};
use tcpexp_measure::packets::{ExplainedFlow, ExplainedPacket, FlowPacketRow, PacketMeter};
use tcpexp_measure::sender::{
    EventId, Hindsight, SenderRow, sender_state, sender_state_along_with,
};
use tcpexp_measure::{Either, Meter};

use collected::Collected;
use focus::Focus;

use crate::selection::Moment;
use crate::view::View;
use crate::{CaptureInfo, CwndOptions, Error, Recording};

/// The packets to explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Explained {
    /// All packets of the flow.
    Whole,
    /// The packets within one smoothed round-trip time of a moment.
    At(Moment),
    /// The packets of an event: of a recovery, those from one round-trip time before it to its end;
    /// of a retransmission, the copies of its bytes and the ACKs between them that report a loss.
    Event(EventId),
}

/// The packets of a flow, in the order of the capture.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The flows to which the packets belong.
    pub flows: Vec<ExplainedFlow>,
    /// The packets.
    pub packets: Vec<ExplainedPacket>,
    /// Description of the capture.
    pub info: CaptureInfo,
}

/// Lists the packets of the flows that `wants` selects, with what was inferred from each.
///
/// Reads the capture twice; for an event, three times. Memory grows with the number of packets
/// listed. An event that the flow does not have gives no packets.
pub fn explain(
    recording: &Recording,
    options: &CwndOptions,
    explained: Explained,
    wants: impl Fn(&ExplainedFlow) -> bool + Sync,
) -> Result<Explanation, Error> {
    let view = View::of(recording, &options.reading)?;
    let mut walk = view.walk_once()?;
    let (mut hindsight, metered) = Hindsight::of(&mut walk);
    recording.require_second_pass(&walk)?;
    let coarse_tick = recording.coarse_tick()?;
    hindsight.set_coarse_tick(coarse_tick);
    let info = CaptureInfo {
        flows_shed: metered.flows_shed,
        flows_left_out: hindsight.flows_left_out(),
        missed: hindsight.missed(),
        coarse_tick,
        records_per_packet: recording.records_per_packet(options.reading.tunnels)?,
        ..CaptureInfo::of(&walk)
    };
    info.require_packets(recording)?;
    let pass = Pass {
        view,
        hindsight: &hindsight,
        options,
        wants: &wants,
    };
    let focus = match explained {
        Explained::Whole => Some(Focus::Whole),
        Explained::At(moment) => Some(Focus::At(moment.on(recording)?)),
        Explained::Event(id) => pass.find(id)?,
    };
    let Some(focus) = focus else {
        recording.require_whole_passes()?;
        return Ok(Explanation {
            flows: Vec::new(),
            packets: Vec::new(),
            info,
        });
    };
    let (flows, packets) = pass.collect(&focus)?.finish(&focus);
    recording.require_whole_passes()?;
    Ok(Explanation {
        flows,
        packets,
        info,
    })
}

/// Calls `each` with the records of these numbers, in the order of the file.
///
/// `records` are sorted record numbers. Reads the capture once.
pub fn records<E: From<Error>>(
    recording: &Recording,
    records: &[u64],
    mut each: impl FnMut(u64, &Record<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let (mut place, mut wanted) = (0, records.iter().peekable());
    let mut outcome = Ok(());
    let is_part = recording.part()?.is_some();
    recording.each_record(|record| {
        let mark = is_part.then(|| PartMark::read(&record.options)).flatten();
        let number = mark.map_or(place, |mark| mark.record);
        place += 1;
        if outcome.is_ok() && wanted.next_if(|next| **next == number).is_some() {
            outcome = each(number, record);
        }
    })?;
    outcome
}

/// A pass over the capture.
struct Pass<'a, W> {
    view: View<'a>,
    hindsight: &'a Hindsight,
    options: &'a CwndOptions,
    wants: &'a W,
}

impl<W: Fn(&ExplainedFlow) -> bool + Sync> Pass<'_, W> {
    /// The selected flows that have a sender.
    fn senders(&self) -> HashSet<FlowId> {
        let flows = self
            .hindsight
            .flows()
            .map(|(flow, initiator, responder)| ExplainedFlow {
                flow,
                protocol: Protocol::Tcp,
                initiator,
                responder,
            });
        flows
            .filter(|flow| (self.wants)(flow))
            .map(|flow| flow.flow)
            .collect()
    }

    /// The event of this name, of the first selected flow that has it.
    fn find(&self, id: EventId) -> Result<Option<Focus>, Error> {
        let senders = self.senders();
        let mut found = None;
        let mut walk = self.view.walk_once()?;
        sender_state(&mut walk, self.hindsight, self.options.sender, |rows| {
            for row in rows {
                let (event, flow, focus) = match row {
                    SenderRow::Recovery(one) => (one.event_id(), one.flow, Focus::Recovery(one)),
                    SenderRow::Retransmission(one) => {
                        (one.event_id(), one.flow, Focus::Retransmission(one))
                    }
                    SenderRow::Sample(_) | SenderRow::Summary(_) => continue,
                };
                if event == id && senders.contains(&flow) {
                    found.get_or_insert(focus);
                }
            }
            Ok::<(), Error>(())
        })?;
        Ok(found)
    }

    /// The packets within reach of `focus`, with what was inferred from them.
    fn collect(&self, focus: &Focus) -> Result<Collected, Error> {
        let mut all = Collected::new(focus.reach(), self.senders());
        let begin = |flow: &Flow| {
            let position = |direction| self.hindsight.position(flow.id, direction);
            (self.wants)(&ExplainedFlow::of(flow))
                .then(|| Packets(PacketMeter::new(flow, position)))
        };
        let mut walk = self.view.walk_once()?;
        let options = self.options.sender;
        sender_state_along_with(
            &mut walk,
            self.hindsight,
            options,
            |_| (),
            begin,
            |rows| {
                for row in rows {
                    match row {
                        Either::First(row) => all.infer(&row),
                        Either::Second(Shown::Packet(packet)) => all.show(packet),
                        Either::Second(Shown::Flow(flow)) => all.flows.push(flow),
                    }
                }
                Ok::<(), Error>(())
            },
        )?;
        Ok(all)
    }
}

/// Shows the packets of a flow, and the flow at its end.
struct Packets(PacketMeter);

enum Shown {
    Packet(FlowPacketRow),
    Flow(ExplainedFlow),
}

impl Meter for Packets {
    type Row = Shown;

    fn segment(&mut self, segment: &Segment, rows: &mut impl Extend<Shown>) {
        rows.extend([Shown::Packet(self.0.of_segment(segment))]);
    }

    fn datagram(&mut self, datagram: &Datagram, rows: &mut impl Extend<Shown>) {
        rows.extend([Shown::Packet(self.0.of_datagram(datagram))]);
    }

    fn end(&mut self, flow: &Flow, rows: &mut impl Extend<Shown>) {
        rows.extend([Shown::Flow(ExplainedFlow::of(flow))]);
    }
}
