//! Measuring packets as they arrive.

use tcpexp_flow::{Flow, FlowPacket, FlowTable};

use crate::{Meter, Metered, Packets};

/// Measures each flow with a meter of its own, as [`meter`](crate::meter) does, and hands each row
/// to `sink` before the next packet is waited for.
///
/// The rows of a flow come in the same order; those of its end come as soon as the table knows of
/// it. One thread does it all, so this is for captures that are being made: one that is there
/// already is measured faster by [`meter`](crate::meter).
pub fn meter_live<M: Meter, E>(
    packets: &mut impl Packets,
    begin: impl Fn(&Flow) -> M,
    mut sink: impl FnMut(M::Row) -> Result<(), E>,
) -> Result<Metered, E> {
    let mut table = FlowTable::default();
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
                FlowPacket::Udp(datagram) => meter.datagram(datagram, &mut rows),
            }
        });
        if shown == 0 {
            table.end_all();
            end(&mut table, &mut meters, &mut rows);
        }
        rows.drain(..).try_for_each(&mut sink)?;
        if shown == 0 {
            return Ok(Metered {
                flows: table.flows_seen(),
            });
        }
    }
}

/// Ends the meters of the flows that are over.
fn end<M: Meter>(table: &mut FlowTable, meters: &mut [Option<M>], rows: &mut Vec<M::Row>) {
    table.drain_ended(|slot, flow| {
        if let Some(mut meter) = meters.get_mut(slot.index()).and_then(Option::take) {
            meter.end(flow, rows);
        }
    });
}
