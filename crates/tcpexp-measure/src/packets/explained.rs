//! A packet with what was inferred from it.

use std::net::SocketAddr;

use tcpexp_flow::{Flow, FlowId, Protocol};

use super::packet::FlowPacketRow;
use crate::sender::{RecoveryEpoch, Retransmission, SenderSample};

/// A packet with what was inferred from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExplainedPacket {
    /// The packet, and what it shows by itself.
    pub packet: FlowPacketRow,
    /// For an ACK, the state of the sender that it reaches, before it is processed.
    pub sender: Option<SenderSample>,
    /// For a retransmission, its cause.
    pub retransmission: Option<Retransmission>,
    /// The recovery that begins at this packet.
    pub recovery: Option<RecoveryEpoch>,
}

/// The flow of an explained packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExplainedFlow {
    /// Number of the flow in the capture.
    pub flow: FlowId,
    /// Transport protocol.
    pub protocol: Protocol,
    /// Address and port of the initiator.
    pub initiator: SocketAddr,
    /// Address and port of the responder.
    pub responder: SocketAddr,
}

impl ExplainedFlow {
    /// The label of `flow`.
    pub fn of(flow: &Flow) -> Self {
        Self {
            flow: flow.id,
            protocol: flow.key.protocol(),
            initiator: flow.initiator(),
            responder: flow.responder(),
        }
    }
}
