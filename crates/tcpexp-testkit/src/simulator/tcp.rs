//! One TCP flow: handshake, data in one direction, close.

use super::load::TcpLoad;
use super::network::Direction;
use super::packet::{Kind, Segment};
use super::receiver::Receiver;
use super::sender::{NEVER, Sender};

const HANDSHAKE_TIMEOUT: u64 = 1_000_000_000;
const FIN_TIMEOUT: u64 = 400_000_000;
const TRIES: u32 = 6;

/// A segment that its host sends now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    pub(crate) direction: Direction,
    pub(crate) segment: Segment,
    pub(crate) retransmission: bool,
}

#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one fact of the handshake or the close, as each side knows it"
)]
pub(crate) struct TcpFlow {
    load: TcpLoad,
    /// Maximum number of segments in a super-segment.
    tso_segments: u32,
    sender: Sender,
    receiver: Receiver,
    client_up: bool,
    server_up: bool,
    handshake_at: u64,
    fin_at: u64,
    tries: u32,
    fin_sent: bool,
    fin_received: bool,
    /// Start value of each side's timestamp clock; by direction. `ts_recent` is the value it
    /// echoes.
    ts_base: [u32; 2],
    ts_recent: [u32; 2],
    /// True once both sides closed, or one gave up.
    pub(crate) finished: bool,
    /// True once all data arrived and was acknowledged.
    pub(crate) completed: bool,
}

impl TcpFlow {
    pub(crate) fn new(
        load: TcpLoad,
        segments: u32,
        tso_segments: u32,
        ts_base: [u32; 2],
        start_at: u64,
    ) -> Self {
        Self {
            load,
            tso_segments,
            sender: Sender::new(&load, segments),
            receiver: Receiver::new(),
            client_up: false,
            server_up: false,
            handshake_at: start_at,
            fin_at: NEVER,
            tries: 0,
            fin_sent: false,
            fin_received: false,
            ts_base,
            ts_recent: [0; 2],
            finished: false,
            completed: false,
        }
    }

    /// Time of the next call to [`wake`](Self::wake).
    pub(crate) fn deadline(&self) -> u64 {
        if self.finished {
            return NEVER;
        }
        self.handshake_at
            .min(self.fin_at)
            .min(self.sender.rto_at)
            .min(self.sender.write_at)
            .min(self.receiver.delayed_ack_at)
    }

    /// Handles every expired timer.
    pub(crate) fn wake(&mut self, now: u64, out: &mut Vec<Outgoing>) {
        if self.finished {
            return;
        }
        if self.handshake_at <= now {
            self.handshake(now, out);
        }
        if self.sender.rto_at <= now {
            self.sender.on_rto(now);
            self.finished |= self.sender.gave_up();
            self.pump(now, out);
        }
        if self.sender.write_at <= now {
            self.sender.write();
            self.pump(now, out);
        }
        if self.receiver.delayed_ack_at <= now {
            self.acknowledge(now, out);
        }
        if self.fin_at <= now {
            self.send_fin(now, out);
        }
    }

    /// Processes a segment that reached its host.
    pub(crate) fn receive(
        &mut self,
        now: u64,
        direction: Direction,
        segment: &Segment,
        out: &mut Vec<Outgoing>,
    ) {
        if self.finished {
            return;
        }
        self.remember_timestamp(direction, segment);
        match segment.kind {
            Kind::Syn => self.send(now, Direction::Reverse, Kind::SynAck, self.server_up, out),
            Kind::SynAck => self.client_is_up(now, out),
            // Any later segment of the client completes the handshake, as its first acknowledgment
            // may be lost.
            _ if direction == Direction::Forward && !self.server_up => {
                self.server_up = true;
                self.handshake_at = NEVER;
            }
            _ => {}
        }
        match segment.kind {
            Kind::Data => self.on_data(now, segment, out),
            Kind::Ack | Kind::Fin if direction != self.load.direction => {
                self.on_ack(now, segment, out);
            }
            Kind::Ack if segment.ack == 1 && self.fin_sent => {
                self.finished = true;
                self.completed = self.sender.done();
            }
            _ => {}
        }
    }

    fn handshake(&mut self, now: u64, out: &mut Vec<Outgoing>) {
        // Each timeout in a row doubles the next one (RFC 6298, section 5.5).
        self.handshake_at = now + (HANDSHAKE_TIMEOUT << self.tries);
        self.tries += 1;
        let again = self.tries > 1;
        if self.tries > TRIES {
            self.finished = true;
        } else if !self.client_up {
            self.send(now, Direction::Forward, Kind::Syn, again, out);
        } else if self.load.direction == Direction::Reverse {
            // The client waits for data, so only another SYN/ACK makes it repeat its lost ACK.
            self.send(now, Direction::Reverse, Kind::SynAck, again, out);
        } else {
            // Data from the client implies that the SYN/ACK arrived.
            self.handshake_at = NEVER;
        }
    }

    fn client_is_up(&mut self, now: u64, out: &mut Vec<Outgoing>) {
        self.client_up = true;
        self.send(now, Direction::Forward, Kind::Ack, false, out);
        if self.load.direction == Direction::Forward {
            self.pump(now, out);
        }
    }

    fn on_data(&mut self, now: u64, segment: &Segment, out: &mut Vec<Outgoing>) {
        let mut urgent = false;
        for number in segment.first..segment.first + segment.count {
            urgent |= self.receiver.on_segment(now, number);
        }
        // The FIN acknowledges the data too, so no acknowledgment of its own leaves.
        if self.complete() && !self.fin_sent {
            self.send_fin(now, out);
        } else if urgent {
            self.acknowledge(now, out);
        }
    }

    fn on_ack(&mut self, now: u64, segment: &Segment, out: &mut Vec<Outgoing>) {
        let blocks = &segment.sack[..segment.sack_count.into()];
        self.sender.on_ack(now, segment.ack, blocks);
        if segment.kind == Kind::Fin {
            self.fin_received = true;
            self.send(now, self.load.direction, Kind::Ack, false, out);
        }
        self.pump(now, out);
    }

    fn complete(&self) -> bool {
        self.receiver.rcv_nxt == self.sender.segments()
    }

    fn pump(&mut self, now: u64, out: &mut Vec<Outgoing>) {
        let up = match self.load.direction {
            Direction::Forward => self.client_up,
            Direction::Reverse => self.server_up,
        };
        if up {
            self.sender.open(now);
        }
        while up && !self.finished {
            let Some(burst) = self.sender.next_burst(now, self.tso_segments) else {
                return;
            };
            let end = burst.first + burst.count;
            let mut segment = self.segment(now, self.load.direction, Kind::Data);
            segment.first = burst.first;
            segment.count = burst.count;
            segment.push = burst.count > 1 || end == self.sender.segments();
            out.push(Outgoing {
                direction: self.load.direction,
                segment,
                retransmission: burst.retransmission,
            });
        }
    }

    fn acknowledge(&mut self, now: u64, out: &mut Vec<Outgoing>) {
        self.receiver.acknowledged();
        self.send(now, self.load.direction.opposite(), Kind::Ack, false, out);
    }

    fn send_fin(&mut self, now: u64, out: &mut Vec<Outgoing>) {
        self.receiver.acknowledged();
        self.fin_at = now + FIN_TIMEOUT;
        if self.fin_sent {
            self.tries += 1;
            self.finished = self.tries > TRIES;
        } else {
            // The handshake has ended, so its counter is free for the FIN.
            self.tries = 0;
        }
        if !self.finished {
            let again = self.fin_sent;
            self.send(now, self.load.direction.opposite(), Kind::Fin, again, out);
            self.fin_sent = true;
        }
    }

    fn send(
        &mut self,
        now: u64,
        direction: Direction,
        kind: Kind,
        retransmission: bool,
        out: &mut Vec<Outgoing>,
    ) {
        out.push(Outgoing {
            direction,
            segment: self.segment(now, direction, kind),
            retransmission,
        });
    }

    fn segment(&self, now: u64, direction: Direction, kind: Kind) -> Segment {
        let sends_data = direction == self.load.direction;
        let (sack, sack_count) = if kind == Kind::Ack && !sends_data && self.load.sack {
            self.receiver.sack_blocks()
        } else {
            Default::default()
        };
        // The timestamp clock of Linux ticks in milliseconds (`TCP_TS_HZ`).
        let milliseconds = (now / 1_000_000) as u32;
        Segment {
            kind,
            first: if sends_data {
                self.sender.snd_nxt()
            } else {
                u32::from(self.fin_sent)
            },
            count: 0,
            push: false,
            ack: if sends_data {
                u32::from(self.fin_received)
            } else {
                self.receiver.rcv_nxt
            },
            sack,
            sack_count,
            ts_val: self.ts_base[direction.index()].wrapping_add(milliseconds),
            ts_ecr: self.ts_recent[direction.opposite().index()],
        }
    }

    /// RFC 7323 section 4.3: echo the timestamp of the segment that the next acknowledgment covers.
    fn remember_timestamp(&mut self, direction: Direction, segment: &Segment) {
        if segment.kind != Kind::Data || segment.first <= self.receiver.last_ack {
            self.ts_recent[direction.index()] = segment.ts_val;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_on_a_perfect_path_sends_every_segment_once() {
        let load = TcpLoad {
            bytes: 144_800,
            ..TcpLoad::default()
        };
        let mut flow = TcpFlow::new(load, 100, 1, [0; 2], 0);
        let (mut out, mut data, mut now) = (Vec::new(), 0, 0);
        flow.wake(now, &mut out);
        while !flow.finished {
            now += 10_000_000;
            for sent in std::mem::take(&mut out) {
                assert!(!sent.retransmission);
                data += sent.segment.count;
                flow.receive(now, sent.direction, &sent.segment, &mut out);
            }
            flow.wake(now, &mut out);
        }
        assert_eq!((data, flow.completed), (100, true));
    }
}
