//! What each packet of a pair shows of data that was not captured at the other point.

use super::pair::Pair;
use crate::spp::linking::Event;
use crate::spp::matching::Departure;
use tcpexp_flow::Protocol;
use tcpexp_units::TimeDelta;

/// A packet's passage of a point, as evidence.
///
/// Departures are ordered by these numbers. Record numbers do not show the order, because records may be
/// out of time order in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::spp) enum Weighed {
    /// It leaves with this number (lower half) among the departures of its direction.
    Departs(u32),
    /// It is the capture's second record of a packet that has left; the number is that of the next packet.
    DepartsAsCopy(u32),
    /// It arrives; the time is the resolution of the clock of the downstream point.
    Arrives(TimeDelta),
}

impl Pair {
    /// Updates the evidence.
    pub(in crate::spp) fn weigh(&mut self, event: &Event, passage: Weighed) {
        // Only TCP has acknowledgments that prove an arrival.
        if self.flow.protocol != Protocol::Tcp {
            return;
        }
        let (mark, place, time) = (
            event.sighting.mark,
            event.sighting.place(),
            event.sighting.time,
        );
        let evidence = self.evidence.get_or_insert_default();
        if let Some((tsval, tsecr)) = mark.timestamps() {
            let of_sent = &mut evidence[event.direction.index()];
            match passage {
                Weighed::Arrives(_) => of_sent.arrive_at(tsval),
                Weighed::Departs(number) if mark.length == 0 => {
                    of_sent.depart_without_data(number, tsval);
                }
                Weighed::Departs(_) | Weighed::DepartsAsCopy(_) => {}
            }
            // An echo proves the arrival wherever it is captured.
            evidence[event.direction.opposite().index()].echo(tsecr);
        }
        let bytes = mark.sequence_bytes();
        if bytes > 0 {
            let data = &mut evidence[event.direction.index()];
            match passage {
                Weighed::Arrives(tick) => {
                    data.arrive(mark.seq(), bytes, place);
                    // A firewall may answer a SYN for the receiver.
                    if mark.length > 0 {
                        data.arrive_in_time((mark.seq(), bytes), place, time, tick);
                    }
                }
                Weighed::Departs(number) => {
                    data.depart(mark.seq(), bytes, number);
                    if mark.length == 0 {
                        data.depart_control(number);
                    }
                }
                Weighed::DepartsAsCopy(next) => data.depart(mark.seq(), bytes, next),
            }
        }
        // An acknowledgment proves the arrival wherever it is captured, so both points report it.
        if let Some(ack) = mark.ack() {
            let data = &mut evidence[event.direction.opposite().index()];
            data.acknowledge(ack, bytes == 0);
            if !matches!(passage, Weighed::Arrives(_)) {
                data.acknowledge_downstream(place, time, ack);
            }
        }
    }

    /// Updates the evidence with the departure of an arrival at this place (lower half).
    #[inline]
    pub(in crate::spp) fn identify(&mut self, departure: &Departure, arrival: u32) {
        if let Some(evidence) = &mut self.evidence {
            evidence[departure.direction.index()].identify(departure, arrival);
        }
    }
}
