//! The first pass over a capture, which collects the prerequisites of all rows.

use std::sync::Arc;

use tcpexp_flow::{FlowId, Packets};
use tcpexp_measure::flows::{Connection, ConnectionSummary};
use tcpexp_measure::sender::Hindsight;
use tcpexp_measure::{Busiest, Tee};
use tcpexp_pair::spp::Survey;

use crate::view::View;
use crate::{CaptureInfo, Error};

/// Result of the first pass over a capture.
///
/// Its size grows with the number of retransmissions and of flows, up to
/// [`Packets::max_flows`]. If there are more flows, those with the most packets are kept.
pub(super) struct Surveyed {
    pub(super) info: CaptureInfo,
    /// Sample of packets for the comparison with the other capture.
    pub(super) sample: Survey,
    pub(super) hindsight: Hindsight,
    /// Connections in order of flow number.
    pub(super) connections: Vec<(FlowId, Arc<ConnectionSummary>)>,
}

/// Whether a capture is compared with another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// It is the only capture.
    Not,
    /// A survey has compared both captures.
    Before,
    /// A sample of its packets is compared after this pass.
    Next,
}

impl Surveyed {
    /// Reads a capture once.
    pub(super) fn of(view: View<'_>, compared: Compared) -> Result<Self, Error> {
        let is_alone = compared == Compared::Not;
        let mut walk = view.walk_once()?;
        let mut sample = Survey::default();
        let coarse_tick = view.recording().coarse_tick()?;
        let mut connections = Busiest::new(walk.max_flows());
        let mut packets = Tee::new(&mut walk, |sighted| {
            if compared == Compared::Next {
                sample.observe(sighted);
            }
        });
        let (mut hindsight, metered) =
            Hindsight::along_with(&mut packets, Connection::of, |rows| {
                for mut connection in rows {
                    connection.coarse_tick = coarse_tick;
                    let [forward, reverse] = &connection.directions;
                    let packets = forward.packets + reverse.packets;
                    connections.add(packets, connection.flow, Arc::new(connection));
                }
                Ok::<(), Error>(())
            })?;
        hindsight.set_coarse_tick(coarse_tick);
        let (connections, flows_left_out) = connections.finish();
        let info = CaptureInfo {
            flows_shed: metered.flows_shed,
            flows_left_out,
            missed: hindsight.missed(),
            // The clocks of a pair are measured together.
            coarse_tick: coarse_tick.filter(|_| is_alone),
            records_per_packet: view.records_per_packet()?,
            set_back: walk.set_back().filter(|_| is_alone),
            ..CaptureInfo::of(&walk)
        };
        info.require_packets(view.recording())?;
        for interface in &info.interfaces {
            sample.count_in(interface.resolution.unit());
        }
        Ok(Self {
            info,
            sample,
            hindsight,
            connections,
        })
    }

    /// Returns the summary of the flow with this number.
    pub(super) fn connection(&self, flow: FlowId) -> Option<&Arc<ConnectionSummary>> {
        let place = self.connections.binary_search_by_key(&flow, |(id, _)| *id);
        let (_, connection) = &self.connections[place.ok()?];
        Some(connection)
    }
}
