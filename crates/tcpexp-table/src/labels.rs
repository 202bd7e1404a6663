//! The columns that identify a row's flow.

use tcpexp_flow::{Flow, FlowId, Protocol};
pub use tcpexp_measure::SenderLabel;
use tcpexp_pair::spp::{PairedFlow, Point};

use crate::columns::Builder;

/// Meaning of the column `protocol`.
pub(crate) const PROTOCOL: &str = "Protocol: tcp, udp, icmp, icmpv6, sctp, esp, …, or ip-253 for a protocol without a well-known name. An ICMP echo has its identifier in place of ports; without ports, the port is 0.";
const FLOW_ID: &str = "The flow's number in this run, counted from 0 in order of first appearance.";
/// Flows that the first of several captures does not show have the numbers after its own.
const FLOW_ID_AT_SOURCE: &str = "The flow's number in the first capture, counted from 0 in order of first appearance, as in the tables of this capture alone.";
const INITIATOR_AT_SOURCE: &str = "Address and port of the initiator as seen at the source point: 10.0.0.1:5201 or [2001:db8::1]:443.";
const RESPONDER_AT_SOURCE: &str = "Address and port of the responder as seen at the source point.";

/// Number, protocol and endpoints of a flow, the same in every table.
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

/// A row with its flow.
pub type Labelled<R, L = FlowLabel> = tcpexp_measure::Labelled<R, L>;

impl FlowLabel {
    /// The label of a flow found at two points, with its addresses at the source.
    pub fn of_pair(flow: &PairedFlow) -> Self {
        Self {
            flow: flow.number,
            protocol: flow.protocol,
            initiator: flow.initiator.to_string(),
            responder: flow.responder.to_string(),
        }
    }

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

/// Adds the flow columns of the tables about senders.
pub(crate) fn sender_label_columns<R: 'static>(
    columns: Builder<R>,
    label: fn(&R) -> &SenderLabel,
) -> Builder<R> {
    numbered(columns, FLOW_ID, move |row| (label(row).flow, label(row).protocol))
        .maybe_displayed(
            "initiator",
            "Address and port of the initiator: 10.0.0.1:5201 or [2001:db8::1]:443. In a log, of the local end. Null if a log names no endpoints.",
            move |row| Some(label(row).ends?.0),
        )
        .maybe_displayed(
            "responder",
            "Address and port of the responder; in a log, of the remote end. Null if a log names no endpoints.",
            move |row| Some(label(row).ends?.1),
        )
        .maybe_text(
            "capture",
            "Capture of the row, whose clock its times use: src or dst. Null for a log.",
            move |row| label(row).capture.map(Point::name),
        )
}

/// Adds the flow columns of the tables about flows.
pub(crate) fn flow_columns<R: 'static>(
    columns: Builder<R>,
    label: fn(&R) -> &FlowLabel,
) -> Builder<R> {
    numbered(columns, FLOW_ID, move |row| {
        (label(row).flow, label(row).protocol)
    })
    .name(
        "initiator",
        "Address and port of the initiator: 10.0.0.1:5201 or [2001:db8::1]:443.",
        move |row| &label(row).initiator,
    )
    .name(
        "responder",
        "Address and port of the responder.",
        move |row| &label(row).responder,
    )
}

/// Adds the columns of a flow found at two points, with its addresses at the source.
pub(crate) fn label_at_source_columns<R: 'static>(
    columns: Builder<R>,
    label: fn(&R) -> &FlowLabel,
) -> Builder<R> {
    numbered(columns, FLOW_ID_AT_SOURCE, move |row| {
        (label(row).flow, label(row).protocol)
    })
    .name("initiator", INITIATOR_AT_SOURCE, move |row| {
        &label(row).initiator
    })
    .name("responder", RESPONDER_AT_SOURCE, move |row| {
        &label(row).responder
    })
}

/// Adds the columns of a flow found at two points, with its addresses at both.
pub(crate) fn pair_columns<R: 'static>(
    columns: Builder<R>,
    pair: fn(&R) -> &PairedFlow,
) -> Builder<R> {
    numbered(columns, FLOW_ID_AT_SOURCE, move |row| (pair(row).number, pair(row).protocol))
        .text("initiator", INITIATOR_AT_SOURCE, move |row| {
            pair(row).initiator.to_string()
        })
        .text("responder", RESPONDER_AT_SOURCE, move |row| {
            pair(row).responder.to_string()
        })
        .maybe_text(
            "initiator_at_dst",
            "Address and port of the initiator as seen at the destination point. Null if no address or port was translated on the path.",
            move |row| Some(pair(row).translated.as_ref()?.0.to_string()),
        )
        .maybe_text(
            "responder_at_dst",
            "Address and port of the responder as seen at the destination point. Null if no address or port was translated on the path.",
            move |row| Some(pair(row).translated.as_ref()?.1.to_string()),
        )
}

/// Adds the columns of a flow's number and protocol.
fn numbered<R: 'static>(
    columns: Builder<R>,
    meaning: &str,
    of: impl Fn(&R) -> (FlowId, Protocol) + Copy + Send + Sync + 'static,
) -> Builder<R> {
    columns
        .id("flow_id", meaning, move |row| of(row).0.0)
        .name("protocol", PROTOCOL, move |row| of(row).1.name())
}
