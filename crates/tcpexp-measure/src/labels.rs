//! The flow of a row.

use std::net::SocketAddr;
use std::sync::Arc;

use tcpexp_flow::{FlowId, Protocol};

use tcpexp_pair::spp::Point;

/// The flow of a sender's row, from a capture or from a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderLabel {
    /// The flow's number.
    pub flow: FlowId,
    /// The flow's number in the capture or log alone.
    pub captured: FlowId,
    /// Transport protocol.
    pub protocol: Protocol,
    /// Address and port of the initiator and of the responder; `None` for a log that names no
    /// endpoints.
    pub ends: Option<(SocketAddr, SocketAddr)>,
    /// The capture that the row was computed from; `None` for a log.
    pub capture: Option<Point>,
}

/// A row with its flow, which all rows of the flow share.
#[derive(Clone, Debug, PartialEq)]
pub struct Labelled<R, L> {
    /// The flow.
    pub flow: Arc<L>,
    /// The row.
    pub row: R,
}
