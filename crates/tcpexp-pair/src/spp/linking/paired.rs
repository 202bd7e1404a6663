//! A flow found at both points.

use std::net::SocketAddr;

use crate::spp::crossing::PathDirection;
use tcpexp_flow::{Direction, FlowId, Protocol};

/// A flow found at both points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairedFlow {
    /// Number of the pairing of a flow at the source with one at the destination. A flow that is paired
    /// again, because one capture lost sight of it, has a new one.
    pub flow: FlowId,
    /// Number of the flow in results: that of the source's capture alone.
    pub number: FlowId,
    /// Protocol.
    pub protocol: Protocol,
    /// Address and port of the initiator at the source point.
    pub initiator: SocketAddr,
    /// Address and port of the responder at the source point.
    pub responder: SocketAddr,
    /// Initiator and responder at the destination point; `None` if nothing is translated.
    ///
    /// In a box, because there may be a million flows, and few captures are translated.
    pub translated: Option<Box<(SocketAddr, SocketAddr)>>,
    /// The flow in each capture, by [`Point::index`](crate::spp::Point::index).
    pub local: [LocalFlow; 2],
}

impl PairedFlow {
    /// Initiator and responder at the destination point.
    pub fn ends_at_dst(&self) -> (SocketAddr, SocketAddr) {
        self.translated
            .as_deref()
            .copied()
            .unwrap_or((self.initiator, self.responder))
    }
}

/// A flow as numbered in one capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalFlow {
    /// Number of the flow in every measurement of this capture alone.
    pub flow: FlowId,
    /// The pair's direction that this capture calls forward. It is reverse if the capture takes the
    /// other end for the initiator.
    pub forward_is: Direction,
}

/// A newly linked flow.
#[derive(Debug)]
pub(in crate::spp) struct Found {
    pub(in crate::spp) flow: PairedFlow,
    /// Way of the forward direction.
    pub(in crate::spp) path_direction: PathDirection,
    /// True if the addresses determine `path_direction`; false if it is inferred from the point that saw the
    /// flow first.
    pub(in crate::spp) way_is_known: bool,
    /// True if the point captured the SYN, by [`Point::index`](crate::spp::Point::index): no earlier
    /// packet left unseen.
    pub(in crate::spp) began: [bool; 2],
    /// True if packets of the flow may be in another one, because a flow table shed a part of it, or
    /// because the flow had a silence as long as its timeout at one point only.
    pub(in crate::spp) is_partial: bool,
    /// Packets dropped before the flow was linked, by point and direction.
    pub(in crate::spp) dropped: [[u64; 2]; 2],
}

/// Counts of flows seen at only one point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unpaired {
    /// Number of flows.
    pub flows: u64,
    /// Number of packets of these flows.
    pub packets: u64,
}
