//! The table `events`: events of senders and of the path.

use std::sync::Arc;

use tcpexp_flow::Direction;
use tcpexp_pair::spp::Point;
use tcpexp_units::Timestamp;

use super::flow::{DatasetFlow, maybe_flow_part, time_part};
use crate::columns::Columns;
use crate::sender_events::{SenderEvent, event_details};

/// An event in a run.
#[derive(Clone, Debug)]
pub struct EventRow {
    /// The capture that the event comes from, if any.
    pub capture: Option<Point>,
    /// The log that the event comes from, if any.
    pub log: Option<Arc<str>>,
    /// The flow of the event; `None` for the path.
    pub flow: Option<Arc<DatasetFlow>>,
    /// The event; its times are on the source's clock.
    pub event: RunEvent,
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEvent {
    /// An event of a sender.
    Sender(SenderEvent),
    /// A planned change of the path.
    PathChange {
        /// Time of the change.
        at: Timestamp,
        /// The change, in the plan's words.
        what: Arc<str>,
    },
}

pub(super) fn columns(origin: Timestamp) -> Columns<EventRow> {
    let columns = Columns::named("dataset_events")
        .maybe_text(
            "capture",
            "Capture with the event: src or dst. Null for events of a log or sweep.",
            |row: &EventRow| row.capture.map(Point::name),
        )
        .maybe_name(
            "log",
            "Log file with the event. Null for other events.",
            |row| row.log.as_deref(),
        );
    let columns = maybe_flow_part(
        columns,
        "for events of the path, and for a log's senders that no capture has",
        |row| row.flow.as_deref(),
        EventRow::direction,
    )
    .text("event", "Kind of event: recovery (the window is reduced and losses are repaired), retransmission, from a log also state (congestion control changes its state), from a sweep path_change.", EventRow::name);
    let columns = time_part(columns, "When, or when it began", origin, EventRow::at);
    event_details(columns, EventRow::sender)
        .maybe_name(
            "detail",
            "The changed parameters of a path_change. Null for other events.",
            EventRow::detail,
        )
        .done()
}

impl EventRow {
    /// Time of the event.
    pub fn at(&self) -> Timestamp {
        match &self.event {
            RunEvent::Sender(event) => event.at(),
            RunEvent::PathChange { at, .. } => *at,
        }
    }

    const fn sender(&self) -> Option<&SenderEvent> {
        match &self.event {
            RunEvent::Sender(event) => Some(event),
            RunEvent::PathChange { .. } => None,
        }
    }

    fn direction(&self) -> Option<Direction> {
        // A direction refers to a flow, which a sender that only a log names does not have.
        self.flow.as_ref()?;
        Some(self.sender()?.direction())
    }

    const fn name(&self) -> &'static str {
        match &self.event {
            RunEvent::Sender(event) => event.name(),
            RunEvent::PathChange { .. } => "path_change",
        }
    }

    fn detail(&self) -> Option<&str> {
        match &self.event {
            RunEvent::Sender(_) => None,
            RunEvent::PathChange { what, .. } => Some(what),
        }
    }
}
