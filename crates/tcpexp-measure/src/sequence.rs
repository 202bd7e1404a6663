//! Sequence numbers over time: data sent, and acknowledgments.

use std::net::SocketAddr;

use tcpexp_flow::{Direction, Flow, FlowId, Segment, StreamOffset, SynOptions};
use tcpexp_units::Timestamp;

use crate::Meter;

/// A point or line of a time-sequence graph.
///
/// All numbers are payload bytes, relative to the first captured byte. Earlier data, if
/// acknowledged or retransmitted, has negative numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceRow {
    /// The flow.
    pub flow: FlowId,
    /// Address and port of the flow's initiator.
    pub initiator: SocketAddr,
    /// Address and port of the flow's responder.
    pub responder: SocketAddr,
    /// Direction of the data.
    pub direction: Direction,
    /// Capture time.
    pub at: Timestamp,
    /// The mark.
    pub mark: SequenceMark,
}

/// A mark in a time-sequence graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceMark {
    /// Sent data.
    Sent {
        /// Offset of the first byte.
        start: i64,
        /// Offset after the last byte.
        end: i64,
        /// True if later data was captured before: the segment was retransmitted, or reordered
        /// before the capture point.
        is_behind: bool,
    },
    /// A cumulative acknowledgment.
    Acknowledged {
        /// Acknowledgment number.
        ack: i64,
        /// End of the receiver's window (RFC 9293, section 3.8.6): the acknowledgment number plus
        /// the scaled window. `None` if the window scale was not captured.
        window_end: Option<i64>,
    },
    /// A selectively acknowledged block (RFC 2018).
    Selected {
        /// Offset of the first byte.
        start: i64,
        /// Offset after the last byte.
        end: i64,
    },
}

/// Records the sequence numbers of one TCP connection, both directions. Other flows yield nothing.
#[derive(Debug)]
pub struct SequenceMeter {
    flow: FlowId,
    ends: (SocketAddr, SocketAddr),
    /// Indexed by direction of the data.
    streams: [Stream; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// Offset of the first byte.
    origin: Option<StreamOffset>,
    /// Offset after the last byte sent.
    highest: Option<StreamOffset>,
    /// Options in the SYN of this direction's sender, if captured.
    syn: Option<SynOptions>,
}

impl SequenceMeter {
    /// Creates a meter for `flow`.
    pub fn new(flow: &Flow) -> Self {
        Self {
            flow: flow.id,
            ends: (flow.initiator(), flow.responder()),
            streams: [Stream::default(); 2],
        }
    }

    /// The window scale of the segment's sender, once both SYNs are known (RFC 7323, section 2.2).
    /// The window in a SYN is never scaled.
    fn shift(&self, segment: &Segment) -> Option<u8> {
        if segment.flags.syn() {
            return Some(0);
        }
        let syn = |direction: Direction| self.streams[direction.index()].syn;
        let direction = segment.seen.direction;
        let (own, other) = (syn(direction)?, syn(direction.opposite())?);
        Some(own.agreed_shift(&other))
    }

    fn row(&self, direction: Direction, at: Timestamp, mark: SequenceMark) -> SequenceRow {
        SequenceRow {
            flow: self.flow,
            initiator: self.ends.0,
            responder: self.ends.1,
            direction,
            at,
            mark,
        }
    }
}

impl Meter for SequenceMeter {
    type Row = SequenceRow;

    fn segment(&mut self, segment: &Segment, rows: &mut impl Extend<SequenceRow>) {
        // The sequence numbers of a reset may be forged (RFC 5961).
        if segment.flags.rst() {
            return;
        }
        let (at, direction) = (segment.seen.at, segment.seen.direction);
        if segment.syn.is_some() {
            self.streams[direction.index()].syn = segment.syn;
        }
        if let Some(ack) = segment.ack {
            let data = direction.opposite();
            // If the data itself is not captured, the first ACK is the origin.
            let origin = *self.streams[data.index()].origin.get_or_insert(ack);
            let shift = self.shift(segment);
            let acknowledged = ack.since(origin);
            let window_end = shift.map(|shift| acknowledged + (i64::from(segment.window) << shift));
            let mark = SequenceMark::Acknowledged {
                ack: acknowledged,
                window_end,
            };
            rows.extend([self.row(data, at, mark)]);
            rows.extend(segment.sack_blocks().map(|(start, end)| {
                let (start, end) = (start.since(origin), end.since(origin));
                self.row(data, at, SequenceMark::Selected { start, end })
            }));
        }
        let stream = &mut self.streams[direction.index()];
        let (start, length) = (segment.payload_start(), segment.seen.payload_bytes);
        let origin = *stream.origin.get_or_insert(start);
        if length > 0 {
            let end = start.plus(length);
            let is_behind = stream.highest.is_some_and(|highest| start < highest);
            stream.highest = stream.highest.max(Some(end));
            let mark = SequenceMark::Sent {
                start: start.since(origin),
                end: end.since(origin),
                is_behind,
            };
            rows.extend([self.row(direction, at, mark)]);
        }
    }

    fn end(&mut self, _flow: &Flow, _rows: &mut impl Extend<SequenceRow>) {}
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::meter;
    use tcpexp_testkit::scripted::Scripted;

    /// The marks of the client's data, one per line.
    fn marks(script: &str) -> String {
        let mut lines = Vec::new();
        let sink = |rows: Vec<SequenceRow>| {
            for row in rows {
                if row.direction == Direction::Forward {
                    let millis = row.at.as_nanos() / 1_000_000;
                    lines.push(match row.mark {
                        SequenceMark::Sent {
                            start,
                            end,
                            is_behind,
                        } => {
                            let behind = if is_behind { " behind" } else { "" };
                            format!("{millis} sent {start}:{end}{behind}")
                        }
                        SequenceMark::Acknowledged { ack, window_end } => {
                            format!("{millis} ack {ack} window {window_end:?}")
                        }
                        SequenceMark::Selected { start, end } => {
                            format!("{millis} sack {start}:{end}")
                        }
                    });
                }
            }
            Ok::<(), ()>(())
        };
        meter(&mut Scripted::new(script), SequenceMeter::new, sink).unwrap();
        lines.join("\n")
    }

    #[test]
    fn points_are_data_acks_sack_blocks_and_retransmissions() {
        assert_snapshot!(marks("
            0.000 > S wscale 3
            0.040 < S wscale 7 win 65535
            0.040 > 1
            0.041 > 1:1461(1460)
            0.042 > 1461:2921(1460)
            0.043 > 2921:4381(1460)
            0.081 < ack 1461 win 500
            0.083 < ack 1461 win 500 sack 2921:4381
            0.090 > 1461:2921(1460)
        "), @r"
        41 sent 0:1460
        42 sent 1460:2920
        43 sent 2920:4380
        81 ack 1460 window Some(65460)
        83 ack 1460 window Some(65460)
        83 sack 2920:4380
        90 sent 1460:2920 behind
        ");
    }

    #[test]
    fn a_window_of_unknown_scale_is_unknown() {
        assert_snapshot!(marks("
            0.000 > 5000:6460(1460)
            0.040 < ack 6460 win 500
            0.050 > 3540:5000(1460)
        "), @r"
        0 sent 0:1460
        40 ack 1460 window None
        50 sent -1460:0 behind
        ");
    }
}
