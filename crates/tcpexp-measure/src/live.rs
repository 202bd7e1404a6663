//! Measurement of packets as they arrive.

use tcpexp_flow::{Flow, FlowPacket, FlowTable};

use crate::{Meter, Metered};
use tcpexp_flow::Packets;

/// Measures each flow with its own meter, like [`meter`](crate::meter), and passes each row to
/// `sink` before it waits for the next packet.
///
/// The rows of a flow have the same order as there; rows of a flow's end follow as soon as the flow
/// table ends the flow. Single-threaded, for captures in progress: [`meter`](crate::meter) is
/// faster for files.
pub fn meter_live<M: Meter, E>(
    packets: &mut impl Packets,
    begin: impl Fn(&Flow) -> M,
    mut sink: impl FnMut(M::Row) -> Result<(), E>,
) -> Result<Metered, E> {
    let mut table = packets.table();
    let mut meters: Vec<Option<M>> = Vec::new();
    let mut rows = Vec::new();
    loop {
        let shown = packets.show(1, |sighted| {
            let mut arrival = sighted.arrival();
            let tracked = table.place(&mut arrival);
            end(&mut table, &mut meters, &mut rows);
            let place = tracked.slot.index();
            if meters.len() <= place {
                meters.resize_with(place + 1, || None);
            }
            if tracked.is_first {
                meters[place] = Some(begin(table.flow(tracked.slot)));
            }
            let Some(meter) = &mut meters[place] else {
                return;
            };
            match arrival.packet() {
                FlowPacket::Tcp(segment) => meter.segment(segment, &mut rows),
                FlowPacket::Datagram(datagram) => meter.datagram(datagram, &mut rows),
            }
        });
        if shown == 0 {
            table.end_all();
            end(&mut table, &mut meters, &mut rows);
        }
        rows.drain(..).try_for_each(&mut sink)?;
        if shown == 0 {
            return Ok(Metered::of(&table));
        }
    }
}

/// Ends the meters of ended flows.
fn end<M: Meter>(table: &mut FlowTable, meters: &mut [Option<M>], rows: &mut Vec<M::Row>) {
    table.drain_ended(|slot, flow| {
        if let Some(mut meter) = meters.get_mut(slot.index()).and_then(Option::take) {
            meter.end(flow, rows);
        }
    });
}
