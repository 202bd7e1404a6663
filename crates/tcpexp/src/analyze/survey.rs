//! The first pass over a capture, which collects the prerequisites of all rows.

use tcpexp_measure::Tee;
use tcpexp_measure::flows::{Connection, ConnectionSummary};
use tcpexp_measure::sender::Hindsight;
use tcpexp_pair::spp::Survey;
use tcpexp_wire::Tunnels;

use crate::{CaptureInfo, Error, Recording};

/// Result of the first pass over a capture.
///
/// Its size grows with the number of flows and of retransmissions, not with the number of packets.
pub(super) struct Surveyed {
    pub(super) info: CaptureInfo,
    /// Sample of packets for the comparison with the other capture.
    pub(super) sample: Survey,
    pub(super) hindsight: Hindsight,
    /// Connections in order of flow number.
    pub(super) connections: Vec<ConnectionSummary>,
}

impl Surveyed {
    /// Reads a capture once. `has_other` is true if it is compared with another capture.
    pub(super) fn of(
        recording: &Recording,
        tunnels: Tunnels,
        has_other: bool,
    ) -> Result<Self, Error> {
        let mut walk = recording.walk_once(tunnels)?;
        let mut sample = Survey::default();
        let mut connections = Vec::new();
        let mut packets = Tee::new(&mut walk, |sighted| {
            if has_other {
                sample.observe(sighted);
            }
        });
        let hindsight = Hindsight::along_with(
            &mut packets,
            |_| Connection::default(),
            |rows| {
                connections.extend(rows);
                Ok::<(), Error>(())
            },
        )?;
        // Connections come out when they end; `connection` searches them by number.
        connections.sort_by_key(|connection| connection.flow);
        let info = CaptureInfo::of(&walk);
        info.require_packets(recording)?;
        Ok(Self {
            info,
            sample,
            hindsight,
            connections,
        })
    }

    /// Returns the summary of the flow with this number.
    pub(super) fn connection(&self, flow: tcpexp_flow::FlowId) -> Option<&ConnectionSummary> {
        let place = self
            .connections
            .binary_search_by_key(&flow, |connection| connection.flow);
        Some(&self.connections[place.ok()?])
    }
}
