//! The sockets of repeated output of `ss`.

use std::collections::HashMap;
use std::net::SocketAddr;

use tcpexp_flow::FlowId;
use tcpexp_units::{TimeDelta, Timestamp};

use super::flows::{Flows, Stream};
use super::rows::Batch;

/// Totals since a connection began, which never fall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counters {
    pub(super) retransmitted: u64,
    pub(super) busy: TimeDelta,
    pub(super) bytes_sent: u64,
    pub(super) bytes_acked: u64,
}

/// The latest poll of each socket, kept until the log ends.
#[derive(Clone, Debug, Default)]
pub(super) struct Sockets(HashMap<(SocketAddr, SocketAddr), Poll>);

#[derive(Clone, Copy, Debug)]
struct Poll {
    at: Timestamp,
    flow: FlowId,
    counters: Counters,
}

impl Sockets {
    /// The sender of a socket. A counter that falls shows a later connection on the same ports, which is a flow
    /// of its own.
    pub(super) fn sender<'a>(
        &mut self,
        ends: (SocketAddr, SocketAddr),
        at: Timestamp,
        counters: Counters,
        flows: &'a mut Flows,
        batch: &mut Batch,
    ) -> &'a mut Stream {
        let before = self.0.get(&ends);
        // The rows of several pollers may be out of order.
        let fell_from = before.filter(|poll| poll.at < at && counters.fell_from(&poll.counters));
        if let Some(poll) = fell_from {
            flows.close(ends, poll.flow);
        }
        let is_latest = before.is_none_or(|poll| poll.at <= at);
        let stream = flows.sender(ends, None, batch);
        if is_latest {
            let flow = stream.flow;
            self.0.insert(ends, Poll { at, flow, counters });
        }
        stream
    }
}

impl Counters {
    fn fell_from(&self, before: &Self) -> bool {
        self.retransmitted < before.retransmitted
            || self.busy < before.busy
            || self.bytes_sent < before.bytes_sent
            || self.bytes_acked < before.bytes_acked
    }
}

#[cfg(test)]
mod tests {
    use crate::import::Format;
    use crate::import::log::read;

    /// The flow of each row, and its total of retransmissions.
    fn rows(polls: &[(u32, &str, &str)]) -> Vec<(u32, u64)> {
        let lines = polls.iter().map(|(at, ends, counters)| {
            format!("{at}.5 ESTAB 0 0 {ends} rtt:1/1 cwnd:10 {counters}\n")
        });
        let (batch, _) = read(Format::Ss, &lines.collect::<String>());
        let rows = batch.counters.iter();
        rows.map(|row| (row.flow.0, row.retransmitted_segments.unwrap()))
            .collect()
    }

    const SENDER: &str = "10.0.0.1:4 10.0.0.2:5";
    const RECEIVER: &str = "10.0.0.2:5 10.0.0.1:4";

    #[test]
    fn a_counter_that_falls_begins_a_flow() {
        let found = |first: &str, then: &str| rows(&[(1, SENDER, first), (2, SENDER, then)]);
        assert_eq!(found("retrans:0/3", "retrans:0/2"), [(0, 3), (1, 2)]);
        assert_eq!(found("retrans:0/3", "retrans:0/3"), [(0, 3), (0, 3)]);
        // `ss` leaves out a counter of zero.
        assert_eq!(found("busy:12ms", ""), [(0, 0), (1, 0)]);
        assert_eq!(found("bytes_acked:9", "bytes_acked:8"), [(0, 0), (1, 0)]);
        assert_eq!(found("bytes_sent:9", "bytes_sent:10"), [(0, 0), (0, 0)]);
    }

    #[test]
    fn both_ends_of_a_connection_on_reused_ports_are_one_flow() {
        let both = |at: u32, sent: &'static str| {
            let received = "bytes_acked:1";
            [(at, SENDER, sent), (at, RECEIVER, received)]
        };
        let polls = [both(1, "bytes_sent:9"), both(2, "bytes_sent:2")].concat();
        assert_eq!(rows(&polls), [(0, 0), (0, 0), (1, 0), (1, 0)]);
        let both = |at: u32, sent: &'static str| [(at, RECEIVER, sent), (at, SENDER, sent)];
        let polls = [both(1, "bytes_sent:9"), both(2, "bytes_sent:2")].concat();
        assert_eq!(rows(&polls), [(0, 0), (0, 0), (1, 0), (1, 0)]);
    }

    #[test]
    fn a_row_of_an_earlier_time_begins_no_flow() {
        let polls = [(2, SENDER, "bytes_sent:9"), (1, SENDER, "bytes_sent:5")];
        assert_eq!(rows(&polls), [(0, 0), (0, 0)]);
    }
}
