//! The flow that a row is about.

use std::sync::Arc;

use tcpexp_flow::{Flow, FlowId, Protocol};

use crate::columns::Builder;

/// Who talks to whom, as the tables tell it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowLabel {
    /// The flow's number.
    pub flow: FlowId,
    /// Transport protocol.
    pub protocol: Protocol,
    /// Address and port of the initiator.
    pub initiator: String,
    /// Address and port of the responder.
    pub responder: String,
}

/// A row with the flow that it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Labelled<R> {
    /// The flow.
    pub flow: Arc<FlowLabel>,
    /// The row.
    pub row: R,
}

impl FlowLabel {
    /// The label of `flow`.
    pub fn of(flow: &Flow) -> Self {
        Self {
            flow: flow.id,
            protocol: flow.key.protocol(),
            initiator: flow.initiator().to_string(),
            responder: flow.responder().to_string(),
        }
    }
}

/// The columns that every table about flows has.
pub(crate) fn flow_columns<R: 'static>(
    columns: Builder<R>,
    label: fn(&R) -> &FlowLabel,
) -> Builder<R> {
    columns
        .id(
            "flow_id",
            "The flow's number in this run, counted from 0 in order of first appearance.",
            move |row| label(row).flow.0,
        )
        .text("protocol", "Transport protocol: tcp or udp.", move |row| {
            label(row).protocol.name()
        })
        .text(
            "initiator",
            "Address and port of the initiator: 10.0.0.1:5201 or [2001:db8::1]:443.",
            move |row| label(row).initiator.clone(),
        )
        .text(
            "responder",
            "Address and port of the responder.",
            move |row| label(row).responder.clone(),
        )
}
