//! The start of a test whose log has it in whole seconds only.

use std::collections::HashMap;
use std::net::SocketAddr;

use foldhash::fast::FixedState;
use tcpexp_flow::{InitiatorKnown, Protocol};
use tcpexp_logs::import::ImportedFlow;
use tcpexp_measure::Vantage;
use tcpexp_measure::flows::ConnectionSummary;
use tcpexp_units::{TimeDelta, Timestamp};

use super::survey::Surveyed;

/// The earliest starts of tests, by the flows that they use.
///
/// iperf3 reads the clock when the control connection opens. Then it exchanges parameters and connects its
/// streams. Each stream begins with a cookie, which the client sends at the end of the handshake; the server
/// starts the test when it has the cookie of the last stream, and its word of this reaches the client one
/// round trip after the handshake (`iperf_handle_message_client` and `iperf_run_server` of its source). The
/// test starts later by the time that both programs take.
#[derive(Debug)]
pub(super) struct TestStarts(HashMap<Ends, Timestamp, FixedState>);

/// The end that has the log and the capture, and the other end.
type Ends = (SocketAddr, SocketAddr);

/// Longest time between the stated and the true start: parts of a second, the round trips of the setup, and
/// the retransmission of a packet. A flow that begins later is another one on the same ports.
const MAX_DELAY: TimeDelta = TimeDelta::from_seconds(10);

impl TestStarts {
    pub(super) fn of(captures: [Option<&Surveyed>; 2]) -> Self {
        let mut starts = HashMap::default();
        for capture in captures.into_iter().flatten() {
            let connections = capture.connections.iter();
            for (ends, start) in connections.flat_map(|(_, connection)| starts_of(connection)) {
                // Of several flows on the same ports, the first one counts, as for the rows of logs.
                starts.entry(ends).or_insert(start);
            }
        }
        Self(starts)
    }

    /// By how much the test of these flows starts later than `stated`; `None` if no capture shows it.
    pub(super) fn delay(&self, stated: Timestamp, flows: &[ImportedFlow]) -> Option<TimeDelta> {
        let start = |flow: &ImportedFlow| self.0.get(&flow.local.zip(flow.remote)?).copied();
        // A test starts with the last of its streams.
        let starts: Option<Vec<Timestamp>> = flows.iter().map(start).collect();
        let delay = starts?.into_iter().max()? - stated;
        (TimeDelta::ZERO..MAX_DELAY)
            .contains(&delay)
            .then_some(delay)
    }
}

/// The earliest start of a test that uses a flow, for the log at each end.
fn starts_of(connection: &ConnectionSummary) -> Vec<(Ends, Timestamp)> {
    let ConnectionSummary {
        initiator,
        responder,
        first_at,
        ..
    } = *connection;
    let at_initiator = (initiator, responder);
    let at_responder = (responder, initiator);
    if connection.protocol == Protocol::Udp {
        // Without a handshake, the first datagram is the client's, one round trip before the start.
        return vec![(at_initiator, first_at), (at_responder, first_at)];
    }
    // The handshake has no round-trip time if its SYN was repeated.
    let Some(rtt) = connection.handshake_rtt else {
        return Vec::new();
    };
    match (connection.initiator_known, connection.vantage) {
        (InitiatorKnown::Syn, Some(Vantage::Initiator)) => {
            vec![(at_initiator, first_at + rtt + rtt)]
        }
        (InitiatorKnown::Syn, Some(Vantage::Responder)) => vec![(at_responder, first_at + rtt)],
        _ => Vec::new(),
    }
}
