//! The start of a test whose log has it in whole seconds only.

use std::collections::HashMap;
use std::net::SocketAddr;

use foldhash::fast::FixedState;
use tcpexp_flow::{FlowKey, InitiatorKnown, Packets, Protocol};
use tcpexp_logs::import::ImportedFlow;
use tcpexp_measure::Vantage;
use tcpexp_measure::flows::ConnectionSummary;
use tcpexp_units::{TimeDelta, Timestamp};

use super::survey::Surveyed;
use crate::Error;
use crate::view::View;

/// The captures that show when tests start.
///
/// iperf3 reads the clock when the control connection opens. Then it exchanges parameters and connects the
/// streams. Each stream begins with a cookie from the client. The server starts the test when it has all
/// cookies, and reports the start to the client. The sending end sends its first data immediately.
#[derive(Debug)]
pub(super) struct TestStarts<'a>(Vec<Captured<'a>>);

/// A capture, and the flows that were captured at one of their ends.
#[derive(Debug)]
struct Captured<'a> {
    view: View<'a>,
    /// By the end of the capture and the other end.
    flows: HashMap<Ends, AtEnd, FixedState>,
}

type Ends = (SocketAddr, SocketAddr);

/// A flow at the end where it was captured.
#[derive(Clone, Copy, Debug)]
struct AtEnd {
    is_initiator: bool,
    handshake_rtt: Option<TimeDelta>,
}

/// Longest time between the stated and the true start: parts of a second, the round trips of the setup, and
/// the retransmission of its packets. A flow that begins later is another one on the same ports.
pub(super) const MAX_DELAY: TimeDelta = TimeDelta::from_seconds(10);

/// Payload of iperf3's cookie (`COOKIE_SIZE` in its `iperf_api.h`). The first datagram of a UDP stream is
/// shorter. Longer packets have the data of the test.
const COOKIE_BYTES: u32 = 37;

/// Packets of one step through a capture.
const STEP: usize = 4_096;

impl<'a> TestStarts<'a> {
    /// `views` and `captures` are the same captures, by [`Point::index`](tcpexp_pair::spp::Point::index).
    pub(super) fn of(views: [Option<View<'a>>; 2], captures: [Option<&Surveyed>; 2]) -> Self {
        let pairs = views.into_iter().zip(captures);
        let found = pairs.filter_map(|(view, capture)| {
            let connections = capture?.connections.iter();
            let flows = connections.flat_map(|(_, connection)| at_ends(connection));
            Some(Captured {
                view: view?,
                flows: flows.collect(),
            })
        });
        Self(found.collect())
    }

    /// By how much the test of these flows starts later than `stated`; `None` if no capture shows it.
    pub(super) fn delay(
        &self,
        stated: Timestamp,
        flows: &[ImportedFlow],
    ) -> Result<Option<TimeDelta>, Error> {
        for captured in &self.0 {
            if let Some(start) = captured.start(stated, flows)? {
                return Ok(Some(start - stated));
            }
        }
        Ok(None)
    }
}

impl Captured<'_> {
    fn start(&self, stated: Timestamp, flows: &[ImportedFlow]) -> Result<Option<Timestamp>, Error> {
        let ends = flows.iter().map(|flow| flow.local.zip(flow.remote));
        let known = ends.map(|ends| Some((ends?, *self.flows.get(&ends?)?)));
        let Some(known) = known.collect::<Option<HashMap<Ends, AtEnd>>>() else {
            return Ok(None);
        };
        let latest = stated + MAX_DELAY;
        let mut walk = self.view.walk()?;
        let (mut found, mut shows_setup, mut is_over) = (None, false, known.is_empty());
        while !is_over {
            let shown = walk.show(STEP, |sighted| {
                is_over |= sighted.at > latest;
                if is_over || sighted.at < stated {
                    return;
                }
                let (key, from) = FlowKey::of(sighted.packet);
                let (from, to) = (key.endpoint(from), key.endpoint(from.opposite()));
                let sent = known.get(&(from, to)).map(|flow| (flow, true));
                let received = || known.get(&(to, from)).map(|flow| (flow, false));
                let Some((flow, is_sent)) = sent.or_else(received) else {
                    return;
                };
                if sighted.packet.payload_bytes <= COOKIE_BYTES {
                    shows_setup = true;
                } else {
                    // Data without a setup before it is from the middle of a test.
                    found = shows_setup.then_some((sighted.at, *flow, is_sent));
                    is_over = true;
                }
            });
            is_over |= shown == 0;
        }
        Ok(found.and_then(|(at, flow, is_sent)| {
            // The first data reaches the server one round trip after the server starts the test.
            let since_start = match (is_sent, flow.is_initiator) {
                (false, false) => flow.handshake_rtt?,
                _ => TimeDelta::ZERO,
            };
            Some(at - since_start).filter(|start| *start >= stated)
        }))
    }
}

/// A connection at the ends where it was captured.
fn at_ends(connection: &ConnectionSummary) -> Vec<(Ends, AtEnd)> {
    let (initiator, responder) = (connection.initiator, connection.responder);
    let at_end = |is_initiator| AtEnd {
        is_initiator,
        handshake_rtt: connection.handshake_rtt,
    };
    let at_initiator = ((initiator, responder), at_end(true));
    let at_responder = ((responder, initiator), at_end(false));
    if connection.protocol == Protocol::Udp {
        // Datagrams do not show where they were captured. The delay of the path is far below a second.
        return vec![at_initiator, at_responder];
    }
    match (connection.initiator_known, connection.vantage) {
        (InitiatorKnown::Syn, Some(Vantage::Initiator)) => vec![at_initiator],
        (InitiatorKnown::Syn, Some(Vantage::Responder)) => vec![at_responder],
        _ => Vec::new(),
    }
}
