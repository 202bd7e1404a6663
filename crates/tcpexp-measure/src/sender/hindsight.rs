//! The results of the first pass over a capture: properties of each sender that the replay needs
//! from the start.

use std::net::SocketAddr;

use tcpexp_flow::{Direction, Flow, FlowId, Packets};
use tcpexp_units::TimeDelta;

use super::fates::DataFates;
use super::losses::Losses;
use super::side::{Side, Surveyed};
use super::survey::FlowSurvey;
use crate::{Both, Busiest, Either, Meter, Metered, MissedData, Position, meter};

/// The results of the first pass, by flow.
///
/// Memory grows with the number of retransmissions and of flows. At most [`Packets::max_flows`] flows
/// are kept: those with the most data segments.
#[derive(Debug, Default)]
pub struct Hindsight {
    /// In order of flow numbers.
    flows: Vec<(FlowId, Surveyed)>,
    flows_left_out: u32,
    missed: MissedData,
    fates: DataFates,
    /// Tick of the capture's clock, if known to be coarse.
    pub(super) coarse_tick: Option<TimeDelta>,
}

impl Hindsight {
    fn new(flows: Busiest<Surveyed>, missed: MissedData) -> Self {
        let (flows, flows_left_out) = flows.finish();
        Self {
            flows,
            flows_left_out,
            missed,
            fates: DataFates::default(),
            coarse_tick: None,
        }
    }

    /// Reads a capture.
    pub fn of(packets: &mut impl Packets) -> (Self, Metered) {
        let mut flows = Busiest::new(packets.max_flows());
        let mut missed = MissedData::default();
        let Ok(metered) = meter(
            packets,
            |flow| FlowSurvey::new(flow.id),
            |rows| {
                for row in rows {
                    row.add_to(&mut flows, &mut missed);
                }
                Ok::<(), std::convert::Infallible>(())
            },
        );
        (Self::new(flows, missed), metered)
    }

    /// Reads a capture and also measures each flow with a second meter, whose rows go to `sink`.
    ///
    /// An error returned by `sink` ends the measurement.
    pub fn along_with<M: Meter, E: Send>(
        packets: &mut impl Packets,
        begin: impl Fn(&Flow) -> M + Sync,
        mut sink: impl FnMut(Vec<M::Row>) -> Result<(), E> + Send,
    ) -> Result<(Self, Metered), E> {
        let mut flows = Busiest::new(packets.max_flows());
        let mut missed = MissedData::default();
        let metered = meter(
            packets,
            |flow| Both(FlowSurvey::new(flow.id), begin(flow)),
            |rows| {
                let mut others = Vec::new();
                for row in rows {
                    match row {
                        Either::First(row) => row.add_to(&mut flows, &mut missed),
                        Either::Second(row) => others.push(row),
                    }
                }
                sink(others)
            },
        )?;
        Ok((Self::new(flows, missed), metered))
    }

    /// Adds the fates of the data packets, from a second capture.
    pub fn learn(&mut self, fates: DataFates) {
        self.fates = fates;
    }

    /// Sets the tick of the capture's clock. Round-trip times below it are then unknown.
    pub fn set_coarse_tick(&mut self, tick: Option<TimeDelta>) {
        self.coarse_tick = tick;
    }

    /// The fates of the data in `direction`; `None` without a second capture.
    pub(super) fn losses(&self, flow: FlowId, direction: Direction) -> Option<Losses<'_>> {
        let side = self.side(flow, direction)?;
        // A flow that only one capture holds has no fates, and each of its packets would seem to
        // arrive.
        let known = self.fates.known(flow)?;
        Some(Losses::new(&self.fates, known, &side.retransmissions))
    }

    /// Drops the senders that `is_wanted` rejects: the second pass does not replay them.
    pub fn retain(&mut self, is_wanted: impl Fn(FlowId, Direction) -> bool) {
        for (flow, surveyed) in &mut self.flows {
            for direction in Direction::BOTH {
                let side = &mut surveyed.sides[direction.index()];
                side.take_if(|_| !is_wanted(*flow, direction));
            }
        }
    }

    /// Number of answered flows left out because there were too many.
    pub fn flows_left_out(&self) -> u32 {
        self.flows_left_out
    }

    /// The data that the capture missed, of all flows.
    pub fn missed(&self) -> MissedData {
        self.missed
    }

    /// All flows with the addresses and ports of initiator and responder, in order of their numbers.
    pub fn flows(&self) -> impl Iterator<Item = (FlowId, SocketAddr, SocketAddr)> + '_ {
        self.flows
            .iter()
            .map(|(id, flow)| (*id, flow.initiator, flow.responder))
    }

    /// True if `direction` carries enough data to reconstruct its sender.
    pub fn has_sender(&self, flow: FlowId, direction: Direction) -> bool {
        self.side(flow, direction).is_some()
    }

    /// Position of the capture relative to the data in `direction`; `None` if neither the handshake
    /// nor timestamps show it.
    pub fn position(&self, flow: FlowId, direction: Direction) -> Option<Position> {
        self.side(flow, direction)?.position
    }

    /// First-pass results for the data in `direction`; `None` if it carries hardly any data.
    pub(super) fn side(&self, flow: FlowId, direction: Direction) -> Option<&Side> {
        let place = self.flows.binary_search_by_key(&flow, |(id, _)| *id);
        let (_, surveyed) = &self.flows[place.ok()?];
        surveyed.sides[direction.index()].as_deref()
    }
}
