//! A flow that was found at both points.

use std::net::SocketAddr;

use crate::spp::crossing::Way;
use tcpexp_flow::{Direction, FlowId, Protocol};

/// A flow that was found at both points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairedFlow {
    /// Its number in this run.
    pub flow: FlowId,
    /// TCP or UDP.
    pub protocol: Protocol,
    /// Address and port of the initiator as seen at the source point.
    pub initiator: SocketAddr,
    /// Address and port of the responder as seen at the source point.
    pub responder: SocketAddr,
    /// Initiator and responder as seen at the destination point, where an address or a port was
    /// translated on the way.
    pub translated: Option<(SocketAddr, SocketAddr)>,
    /// What either capture calls it, by [`Point::index`].
    pub local: [LocalFlow; 2],
}

/// A flow as one capture by itself numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalFlow {
    /// Its number in the capture, as every measurement of this capture alone has it.
    pub flow: FlowId,
    /// What the capture's forward direction is in the pair: the capture may have missed who began.
    pub forward_is: Direction,
}

/// A flow found at both points.
#[derive(Debug)]
pub(in crate::spp) struct Found {
    pub(in crate::spp) flow: PairedFlow,
    /// Which way its forward direction goes.
    pub(in crate::spp) way: Way,
    /// Whether that is known from its addresses and not only from which point saw it first.
    pub(in crate::spp) way_is_known: bool,
    /// Whether a point saw the SYN, by [`Point::index`]: nothing of it left there unseen before.
    pub(in crate::spp) began: [bool; 2],
    /// Packets from before it was found that were not held back, by point and direction.
    pub(in crate::spp) dropped: [[u64; 2]; 2],
}

/// Flows that were seen at one point only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unpaired {
    /// How many flows.
    pub flows: u64,
    /// How many packets they had.
    pub packets: u64,
}
