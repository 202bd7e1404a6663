//! The columns that identify a flow, and the columns of a row's time.

use std::sync::Arc;

use tcpexp_flow::{Direction, FlowId, Protocol};
use tcpexp_units::Timestamp;

use crate::columns::Builder;
use crate::labels::PROTOCOL;

/// The identity of a flow, the same in all tables of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetFlow {
    /// The flow's number in the dataset.
    pub flow: FlowId,
    /// Transport protocol.
    pub protocol: Protocol,
    /// Address and port of the initiator.
    pub initiator: Arc<str>,
    /// Address and port of the responder.
    pub responder: Arc<str>,
    /// Name of the traffic that the flow belongs to, if the plan names it.
    pub traffic: Option<Arc<str>>,
    /// Class of the traffic.
    pub traffic_class: Option<Arc<str>>,
    /// False if another part of the analysis has the flow's rows.
    pub is_own: bool,
}

const FLOW_ID: &str = "The flow's number in this run, the same in all tables: counted from 0 in order of first appearance at the source; flows seen only at the destination come after these.";
const INITIATOR: &str = "Address and port of the initiator: 10.0.0.1:5201 or [2001:db8::1]:443.";
const RESPONDER: &str = "Address and port of the responder.";
const TRAFFIC: &str =
    "Traffic of the plan that the flow belongs to. Null outside a sweep and for other flows.";
const TRAFFIC_CLASS: &str = "Class of the flow's traffic in the plan. Null if traffic is null.";
const DIRECTION: &str = "Direction: forward (initiator to responder) or reverse.";

/// Adds the columns of a flow and one of its directions.
pub(super) fn flow_part<R: 'static>(
    columns: Builder<R>,
    flow: fn(&R) -> &DatasetFlow,
    direction: fn(&R) -> Direction,
) -> Builder<R> {
    columns
        .id("flow_id", FLOW_ID, move |row| flow(row).flow.0)
        .name("protocol", PROTOCOL, move |row| flow(row).protocol.name())
        .name("initiator", INITIATOR, move |row| &flow(row).initiator)
        .name("responder", RESPONDER, move |row| &flow(row).responder)
        .maybe_name("traffic", TRAFFIC, move |row| flow(row).traffic.as_deref())
        .maybe_name("traffic_class", TRAFFIC_CLASS, move |row| {
            flow(row).traffic_class.as_deref()
        })
        .name("direction", DIRECTION, move |row| direction(row).name())
}

/// Adds the columns of a flow to a table in which a row may have no flow; `null` describes those
/// rows.
pub(super) fn maybe_flow_part<R: 'static>(
    columns: Builder<R>,
    null: &str,
    flow: fn(&R) -> Option<&DatasetFlow>,
    direction: fn(&R) -> Option<Direction>,
) -> Builder<R> {
    let described = |what: &str| format!("{what} Null {null}.");
    columns
        .maybe_id("flow_id", &described(FLOW_ID), move |row| {
            Some(flow(row)?.flow.0)
        })
        .maybe_name("protocol", &described(PROTOCOL), move |row| {
            Some(flow(row)?.protocol.name())
        })
        .maybe_name("initiator", &described(INITIATOR), move |row| {
            Some(&flow(row)?.initiator)
        })
        .maybe_name("responder", &described(RESPONDER), move |row| {
            Some(&flow(row)?.responder)
        })
        .maybe_name("traffic", TRAFFIC, move |row| flow(row)?.traffic.as_deref())
        .maybe_name("traffic_class", TRAFFIC_CLASS, move |row| {
            flow(row)?.traffic_class.as_deref()
        })
        .maybe_name("direction", &described(DIRECTION), move |row| {
            Some(direction(row)?.name())
        })
}

/// Adds the columns of a row's time; `what` describes the time.
pub(super) fn time_part<R: 'static>(
    columns: Builder<R>,
    what: &str,
    origin: Timestamp,
    at: fn(&R) -> Timestamp,
) -> Builder<R> {
    columns
        .time(
            "time",
            &format!("{what}, on the source's clock."),
            at,
        )
        .float(
            "time_s",
            "Time in seconds since the origin of the run: the start of a sweep's traffic, else the first packet of the first capture; origin_ns in the manifest.",
            move |row| seconds(at(row), origin),
        )
}

/// Seconds from `origin` to `at`, exact to the nanosecond for a hundred days.
fn seconds(at: Timestamp, origin: Timestamp) -> f64 {
    // An f64 has 53 bits, and 2⁵³ ns are 104 days.
    (at - origin).as_seconds_f64()
}
