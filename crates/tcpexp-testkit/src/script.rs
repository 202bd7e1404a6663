//! Trace scripts: packets as short lines of text, readable by anyone who knows TCP.
//!
//! One line is one packet; `//` or `#` begins a comment. Sequence numbers are absolute:
//! `1:1461(1460)` is sequence number 1. The client is 10.0.0.1 port 40000, the server is 10.0.0.2
//! port 80.
//!
//! ```text
//! line   = TIME WAY ( segment | datagram [ "num" N ] ) common*
//! TIME     seconds since 1970 on the capture's clock, with up to nine decimals
//! WAY      ">" client to server, "<" server to client
//! segment= [ FLAGS ] [ SEQ:END(LEN) | SEQ:END | SEQ ] [ "ack" N ] option*
//! FLAGS    some of S F R P A E W and "." for ACK
//! option = "win" N | "ts" VALUE ECHO | "sack" A:B[,C:D…] | "mss" N | "wscale" N | "sackok"
//!        | "ceb" N (the CE byte counter of an AccECN option)
//! datagram = "udp" LEN | "echo" SEQUENCE LEN | "reply" SEQUENCE LEN (an echo of ICMP)
//!        | "ip" PROTOCOL LEN (the payload follows the IP header)
//!        | "quic" KIND DCID SCID LEN | "quic2" KIND DCID SCID LEN (version 2) | "spin" 0|1 DCID LEN
//! KIND   = initial, 0rtt, handshake, retry or negotiation
//! DCID, SCID the bytes of a connection ID as text, "-" for none
//! common = "id" N | "ttl" N | "tos" N | "flow" N | "v6"
//! ```
//!
//! Omitted fields follow from the lines before:
//! - `SEQ` is the side's next new number, initially 1; for a SYN, initially 0.
//! - Every segment acknowledges, except a SYN or RST without `ack` and without `.`. The number is
//!   everything that the other side has sent so far.
//! - `id` counts from 1 on each side of each flow.
//! - `flow N` is another connection between the same hosts, from client port 40000 + N, which is also
//!   the identifier of its echoes.
//!
//! A malformed line panics with its line number.
//!
//! ```
//! let trace = tcpexp_testkit::script::packets("
//!     0.000 > 1:1461(1460)
//!     0.300 > 1:1461(1460)   // retransmitted: which one does the ACK answer?
//!     0.340 < ack 1461
//! ");
//! assert_eq!(trace.len(), 3);
//! assert_eq!(trace[2].0.as_nanos(), 340_000_000);
//! ```

use std::collections::HashMap;
use std::net::Ipv6Addr;
use std::str::{FromStr, SplitWhitespace};

use tcpexp_units::Timestamp;

use crate::{
    CaptureWriter, Container, Direction, Endian, FrameSpec, Interface, Payload, QuicHeader,
    TcpOptions, Transport, flag,
};

/// Returns the frames of a script with their capture times.
pub fn frames(script: &str) -> Vec<(Timestamp, FrameSpec)> {
    let mut flows = HashMap::new();
    let mut frames = Vec::new();
    for (index, line) in script.lines().enumerate() {
        let text = line.split("//").next().unwrap_or_default();
        let text = text.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            continue;
        }
        let parsed = Line::parse(text).map(|line| (line.at, line.frame(&mut flows)));
        frames
            .push(parsed.unwrap_or_else(|why| panic!("script line {}: {why}: {text}", index + 1)));
    }
    frames
}

/// Returns the bytes of a script's frames with their capture times.
pub fn packets(script: &str) -> Vec<(Timestamp, Vec<u8>)> {
    frames(script)
        .into_iter()
        .map(|(at, frame)| (at, frame.to_bytes()))
        .collect()
}

/// Returns a classic pcap of a script's frames, with nanosecond timestamps.
pub fn capture(script: &str) -> Vec<u8> {
    let interfaces = [Interface::default()];
    let mut writer =
        CaptureWriter::new(Vec::new(), Container::Pcap, Endian::Little, &interfaces).unwrap();
    for (at, frame) in packets(script) {
        writer.write(at, &frame, frame.len() as u32).unwrap();
    }
    writer.into_inner()
}

/// State of a flow after the lines read so far; by direction.
struct Known {
    /// Next new sequence number, unwrapped, so that payload positions continue across the wrap.
    next: [u64; 2],
    ip_id: [u16; 2],
}

impl Default for Known {
    fn default() -> Self {
        Self {
            // One sequence-space turn ahead, so that lower numbers are also representable.
            next: [(1 << 32) + 1; 2],
            ip_id: [1; 2],
        }
    }
}

/// One parsed line, before omitted fields are filled in.
struct Line {
    at: Timestamp,
    direction: Direction,
    /// The header of a datagram; `None` for a TCP segment.
    datagram: Option<Transport>,
    number: Option<u64>,
    quic: Option<QuicHeader>,
    flags: u16,
    seq: Option<u32>,
    len: u16,
    ack: Option<u32>,
    window: u16,
    options: TcpOptions,
    ip_id: Option<u16>,
    ttl: u8,
    traffic_class: u8,
    flow: u16,
    v6: bool,
}

impl Line {
    fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let at = time(words.next().ok_or("no time")?)?;
        let direction = match words.next() {
            Some(">") => Direction::Forward,
            Some("<") => Direction::Reverse,
            _ => return Err("neither > nor < behind the time".into()),
        };
        let mut line = Self {
            at,
            direction,
            datagram: None,
            number: None,
            quic: None,
            flags: 0,
            seq: None,
            len: 0,
            ack: None,
            window: 65_535,
            options: TcpOptions::NONE,
            ip_id: None,
            ttl: 64,
            traffic_class: 0,
            flow: 0,
            v6: false,
        };
        while let Some(word) = words.next() {
            line.word(word, &mut words)?;
        }
        Ok(line)
    }

    fn word(&mut self, word: &str, rest: &mut SplitWhitespace) -> Result<(), String> {
        match word {
            "udp" => {
                self.datagram = Some(Transport::Udp);
                self.len = next(rest)?;
            }
            "echo" | "reply" => {
                let (is_reply, sequence) = (word == "reply", next(rest)?);
                self.datagram = Some(Transport::Echo { is_reply, sequence });
                self.len = next(rest)?;
            }
            "ip" => {
                let protocol = next(rest)?;
                self.datagram = Some(Transport::None { protocol });
                self.len = next(rest)?;
            }
            "quic" | "quic2" => self.long_header(if word == "quic" { 1 } else { 2 }, rest)?,
            "spin" => {
                let spin: u8 = next(rest)?;
                self.quic = Some(QuicHeader::short(spin == 1, id(rest)?.as_bytes()));
                self.datagram = Some(Transport::Udp);
                self.len = next(rest)?;
            }
            "num" => self.number = Some(next(rest)?),
            "ack" => self.ack = Some(next(rest)?),
            "win" => self.window = next(rest)?,
            "id" => self.ip_id = Some(next(rest)?),
            "ttl" => self.ttl = next(rest)?,
            "tos" => self.traffic_class = next(rest)?,
            "flow" => self.flow = next(rest)?,
            "v6" => self.v6 = true,
            "mss" => self.options = self.options.mss(next(rest)?),
            "wscale" => self.options = self.options.window_scale(next(rest)?),
            "sackok" => self.options = self.options.sack_permitted(),
            "ceb" => self.options = self.options.accurate_ecn(next(rest)?),
            "ts" => self.options = self.options.timestamps(next(rest)?, next(rest)?),
            "sack" => {
                let word = rest.next().ok_or("no blocks behind sack")?;
                let blocks: Result<Vec<_>, _> = word.split(',').map(range).collect();
                self.options = self.options.sack(&blocks?);
            }
            _ if word.starts_with(|first: char| first.is_ascii_digit()) => self.numbers(word)?,
            _ => self.flags = flags(word)?,
        }
        Ok(())
    }

    fn long_header(&mut self, version: usize, rest: &mut SplitWhitespace) -> Result<(), String> {
        let kind = rest.next().ok_or("no type of a QUIC packet")?;
        let (dcid, scid) = (id(rest)?, id(rest)?);
        let header = QuicHeader::long(version, kind, dcid.as_bytes(), scid.as_bytes());
        self.quic = Some(header.ok_or_else(|| format!("no type {kind}"))?);
        self.datagram = Some(Transport::Udp);
        self.len = next(rest)?;
        Ok(())
    }

    /// Parses `SEQ:END(LEN)`, `SEQ:END` or `SEQ`.
    fn numbers(&mut self, word: &str) -> Result<(), String> {
        let (numbers, claimed) = match word.split_once('(') {
            Some((numbers, len)) => (numbers, Some(len.trim_end_matches(')'))),
            None => (word, None),
        };
        let (seq, end) = if numbers.contains(':') {
            range(numbers)?
        } else {
            (parse(numbers)?, parse(numbers)?)
        };
        let len = end.wrapping_sub(seq);
        if let Some(claimed) = claimed
            && parse::<u32>(claimed)? != len
        {
            return Err(format!("{numbers} are {len} bytes, not {claimed}"));
        }
        self.seq = Some(seq);
        self.len = u16::try_from(len).map_err(|_| format!("{len} bytes in one segment"))?;
        Ok(())
    }

    fn frame(&self, flows: &mut HashMap<u16, Known>) -> FrameSpec {
        let known = flows.entry(self.flow).or_default();
        let way = self.direction.index();
        let ip_id = self.ip_id.unwrap_or(known.ip_id[way]);
        known.ip_id[way] = ip_id.wrapping_add(1);
        // Both directions of each flow carry different bytes.
        let stream = 2 * u32::from(self.flow) + way as u32;
        let (transport, position) = match self.datagram {
            Some(header) => (header, 0),
            None => self.segment(known),
        };
        let default = FrameSpec::default();
        let (mut client, mut server) = (default.src, default.dst);
        if self.v6 {
            let address = |host| Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, host).into();
            (client, server) = (address(1), address(2));
        }
        let client = (client, default.src_port + self.flow);
        // All echoes of a flow have one identifier.
        let port = match transport {
            Transport::Echo { .. } => client.1,
            _ => default.dst_port,
        };
        let server = (server, port);
        let (from, to) = match self.direction {
            Direction::Forward => (client, server),
            Direction::Reverse => (server, client),
        };
        FrameSpec {
            src: from.0,
            dst: to.0,
            src_port: from.1,
            dst_port: to.1,
            ip_id,
            ttl: self.ttl,
            traffic_class: self.traffic_class,
            transport,
            payload: Payload {
                number: self.number,
                quic: self.quic,
                ..Payload::new(stream, position, self.len)
            },
            ..default
        }
    }

    /// Returns the TCP header, and the position of the payload in the stream.
    fn segment(&self, known: &mut Known) -> (Transport, u64) {
        let way = self.direction.index();
        let next = known.next[way];
        let syn = u64::from(self.flags & flag::SYN != 0);
        let fin = u64::from(self.flags & flag::FIN != 0);
        let position = match self.seq {
            Some(seq) => {
                // Of all positions with this sequence number, the line means the nearest to the
                // next new byte.
                let ahead = seq.wrapping_sub(next as u32).cast_signed();
                next.wrapping_add_signed(ahead.into())
            }
            // A SYN takes the number before the first byte.
            None => next - syn,
        };
        // A retransmission does not move the next new byte back.
        known.next[way] = next.max(position + u64::from(self.len) + syn + fin);
        let quiet = self.flags & (flag::SYN | flag::RST) != 0 && self.flags & flag::ACK == 0;
        let acknowledges = self.ack.is_some() || !quiet;
        let everything = known.next[self.direction.opposite().index()] as u32;
        let transport = Transport::Tcp {
            seq: position as u32,
            ack: if acknowledges {
                self.ack.unwrap_or(everything)
            } else {
                0
            },
            flags: self.flags | if acknowledges { flag::ACK } else { 0 },
            window: self.window,
            options: self.options,
        };
        (transport, position)
    }
}

/// Reads a connection ID as text.
fn id(rest: &mut SplitWhitespace) -> Result<String, String> {
    let word = rest.next().ok_or("no connection ID")?;
    Ok(if word == "-" { "" } else { word }.to_owned())
}

fn time(word: &str) -> Result<Timestamp, String> {
    let (seconds, decimals) = word.split_once('.').unwrap_or((word, "0"));
    if decimals.len() > 9 {
        return Err(format!("{word} is finer than a nanosecond"));
    }
    let nanos: i64 = parse(&format!("{decimals:0<9}"))?;
    Ok(Timestamp::from_nanos(
        parse::<i64>(seconds)? * 1_000_000_000 + nanos,
    ))
}

fn flags(word: &str) -> Result<u16, String> {
    word.chars()
        .map(|letter| match letter {
            'S' => Ok(flag::SYN),
            'F' => Ok(flag::FIN),
            'R' => Ok(flag::RST),
            'P' => Ok(flag::PSH),
            'E' => Ok(flag::ECE),
            'W' => Ok(flag::CWR),
            'A' => Ok(flag::AE),
            '.' => Ok(flag::ACK),
            _ => Err(format!("cannot read {word}")),
        })
        .try_fold(0, |all, one| Ok(all | one?))
}

fn range(word: &str) -> Result<(u32, u32), String> {
    let (start, end) = word
        .split_once(':')
        .ok_or_else(|| format!("no : in {word}"))?;
    Ok((parse(start)?, parse(end)?))
}

fn next<T: FromStr>(words: &mut SplitWhitespace) -> Result<T, String> {
    parse(words.next().ok_or("a number is missing at the end")?)
}

fn parse<T: FromStr>(word: &str) -> Result<T, String> {
    word.parse()
        .map_err(|_| format!("cannot read {word} as a number that fits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns sequence number, acknowledgment number, flags and payload length of each line.
    fn headers(script: &str) -> Vec<(u32, u32, u16, u16)> {
        let header = |frame: FrameSpec| match frame.transport {
            Transport::Tcp {
                seq, ack, flags, ..
            } => (seq, ack, flags, frame.payload.len),
            _ => panic!("only TCP in this script"),
        };
        frames(script)
            .into_iter()
            .map(|(_, frame)| header(frame))
            .collect()
    }

    #[test]
    fn omitted_fields_follow_from_earlier_lines() {
        let headers = headers(
            "
            0.000 > S mss 1460
            0.010 < S. mss 1460
            0.020 > .
            0.020 > P 1:101(100)
            0.040 < F
            0.050 > .
            0.060 > R
        ",
        );
        let expected = [
            (0, 0, flag::SYN, 0),
            (0, 1, flag::SYN | flag::ACK, 0),
            (1, 1, flag::ACK, 0),
            (1, 1, flag::PSH | flag::ACK, 100),
            (1, 101, flag::FIN | flag::ACK, 0),
            (101, 2, flag::ACK, 0),
            (101, 0, flag::RST, 0),
        ];
        assert_eq!(headers, expected);
    }

    #[test]
    fn payload_continues_across_a_sequence_number_wrap() {
        let whole = frames("0 > 4294967290:10(16)")[0].1.to_bytes();
        let parts = frames("0 > 4294967290:0(6)\n0 > 0:10(10)");
        let payload = |bytes: &[u8]| bytes[54..].to_vec();
        let joined: Vec<u8> = parts
            .iter()
            .flat_map(|part| payload(&part.1.to_bytes()))
            .collect();
        assert_eq!(joined, payload(&whole));
    }

    #[test]
    fn options_and_addresses_are_as_written() {
        let (at, frame) = frames("1.5 < ack 9 win 7 ts 3 4 sack 1:3,5:7 id 8 ttl 9 flow 2")[0];
        let options = TcpOptions::NONE.timestamps(3, 4).sack(&[(1, 3), (5, 7)]);
        assert_eq!(at.as_nanos(), 1_500_000_000);
        assert_eq!((frame.ip_id, frame.ttl, frame.dst_port), (8, 9, 40_002));
        let expected = Transport::Tcp {
            seq: 1,
            ack: 9,
            flags: flag::ACK,
            window: 7,
            options,
        };
        assert_eq!(frame.transport, expected);
        let (_, datagram) = frames("0 > udp 20 num 5 v6")[0];
        assert_eq!(datagram.to_bytes()[62..70], 5_u64.to_be_bytes());
    }

    #[test]
    #[should_panic(expected = "script line 2: 1:1461 are 1460 bytes, not 1461")]
    fn a_length_that_does_not_fit_the_numbers_is_refused() {
        frames("\n0.000 > 1:1461(1461)");
    }
}
