//! The connections of a log.

use std::collections::HashMap;
use std::net::SocketAddr;

use tcpexp_flow::{Direction, FlowId, Protocol, StreamOffset};
use tcpexp_units::Timestamp;
use tcpexp_wire::SeqNum;

use super::offsets::Unwrapped;
use super::rows::{Batch, CongestionState, ImportedFlow, StateChange};

/// The state of one sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    pub(super) flow: FlowId,
    pub(super) direction: Direction,
    /// The kernel's identifier of the socket.
    cookie: Option<u64>,
    unwrapped: Unwrapped,
    state: Option<CongestionState>,
    epochs: u32,
}

/// All connections so far, kept until the log ends: a log does not report when a connection closes.
#[derive(Debug, Default)]
pub(super) struct Flows {
    streams: Vec<[Stream; 2]>,
    /// The latest connection between two endpoints, by local and remote endpoint.
    known: HashMap<(SocketAddr, SocketAddr), (usize, Direction)>,
    unnamed: Option<usize>,
}

impl Flows {
    /// The sender at `local` in its connection with `remote`.
    ///
    /// A different `cookie` is a different socket. Without cookies, a connection that reuses the ports
    /// of an earlier one is taken for it, unless [`close`](Self::close) ended it.
    pub(super) fn sender(
        &mut self,
        (local, remote): (SocketAddr, SocketAddr),
        cookie: Option<u64>,
        batch: &mut Batch,
    ) -> &mut Stream {
        let (slot, direction) = match self.known.get(&(local, remote)) {
            Some(&(slot, direction))
                if !self.streams[slot][direction.index()].is_of_another(cookie) =>
            {
                (slot, direction)
            }
            // New endpoints, or a new socket on reused ports, whose earlier connection is replaced.
            _ => {
                let slot = self.begin(Some((local, remote)), batch);
                // A host may log both ends, as with network namespaces: the two directions are one
                // flow.
                self.known
                    .insert((remote, local), (slot, Direction::Reverse));
                // Checked last because a socket may be connected to itself.
                self.known
                    .insert((local, remote), (slot, Direction::Forward));
                (slot, Direction::Forward)
            }
        };
        let stream = &mut self.streams[slot][direction.index()];
        // Only `tcp_probe` events have cookies. Other events of the same socket do not clear the
        // cookie.
        stream.cookie = stream.cookie.or(cookie);
        stream
    }

    /// Ends the connection `flow` between `ends`, so that a further row of either end begins another. Does nothing
    /// if a later connection has replaced it.
    pub(super) fn close(&mut self, ends @ (local, remote): (SocketAddr, SocketAddr), flow: FlowId) {
        if let Some((slot, direction)) = self.known.get(&ends)
            && self.streams[*slot][direction.index()].flow == flow
        {
            self.known.remove(&ends);
            self.known.remove(&(remote, local));
        }
    }

    /// A new connection between `ends`, whatever connections they had before.
    pub(super) fn another(&mut self, ends: (SocketAddr, SocketAddr), batch: &mut Batch) -> FlowId {
        let slot = self.begin(Some(ends), batch);
        self.streams[slot][Direction::Forward.index()].flow
    }

    /// The only sender of a log without endpoints.
    pub(super) fn unnamed(&mut self, batch: &mut Batch) -> &mut Stream {
        let slot = match self.unnamed {
            Some(slot) => slot,
            None => self.begin(None, batch),
        };
        self.unnamed = Some(slot);
        &mut self.streams[slot][Direction::Forward.index()]
    }

    /// Makes the state of all senders unknown.
    pub(super) fn forget_states(&mut self) {
        for stream in self.streams.as_flattened_mut() {
            stream.state = None;
        }
    }

    fn begin(&mut self, ends: Option<(SocketAddr, SocketAddr)>, batch: &mut Batch) -> usize {
        let slot = self.streams.len();
        // A log of 2^32 connections would not fit into memory either.
        let flow = FlowId(u32::try_from(slot).unwrap_or(u32::MAX));
        self.streams
            .push(Direction::BOTH.map(|direction| Stream::new(flow, direction)));
        batch.flows.push(ImportedFlow {
            flow,
            protocol: Protocol::Tcp,
            local: ends.map(|(local, _)| local),
            remote: ends.map(|(_, remote)| remote),
        });
        slot
    }
}

impl Stream {
    fn new(flow: FlowId, direction: Direction) -> Self {
        Self {
            flow,
            direction,
            cookie: None,
            unwrapped: Unwrapped::default(),
            state: None,
            epochs: 0,
        }
    }

    fn is_of_another(&self, cookie: Option<u64>) -> bool {
        matches!((self.cookie, cookie), (Some(known), Some(cookie)) if known != cookie)
    }

    /// The stream offsets of `una` and `nxt`.
    pub(super) fn place(&mut self, una: SeqNum, nxt: SeqNum) -> (StreamOffset, StreamOffset) {
        self.unwrapped.place(una, nxt)
    }

    /// The latest logged state.
    pub(super) const fn state(&self) -> Option<CongestionState> {
        self.state
    }

    /// Records the state set at `at`. Setting the same state again, as a second timeout does, starts no
    /// new reduction.
    pub(super) fn set(&mut self, at: Timestamp, state: CongestionState) -> StateChange {
        self.epochs += u32::from(self.state != Some(state) && state.is_reducing());
        self.state = Some(state);
        StateChange {
            at,
            flow: self.flow,
            direction: self.direction,
            state,
        }
    }

    /// Records the state observed at `at`; returns the change, if any.
    pub(super) fn observe(&mut self, at: Timestamp, state: CongestionState) -> Option<StateChange> {
        (self.state != Some(state)).then(|| self.set(at, state))
    }

    /// Number of the current reduction, from 0; `None` outside a reduction.
    pub(super) fn recovery_epoch(&self) -> Option<u32> {
        // `set` counts each entry into a reducing state, so `epochs` is at least 1 during a
        // reduction.
        self.state?
            .is_reducing()
            .then(|| self.epochs.saturating_sub(1))
    }
}
