//! The time of a TLS handshake, by the headers of its records.
//!
//! Records have a clear-text header of type, version and length (RFC 8446, section 5.1, and RFC 5246,
//! section 6.2.1), so neither keys nor whole packets are needed: the client's headers show when it
//! may send data. TLS that begins later in a connection (STARTTLS) is not detected.

use tcpexp_flow::{Direction, StreamOffset};
use tcpexp_units::Timestamp;

/// Length of a record header in bytes.
const HEADER_BYTES: u32 = 5;
/// Maximum length of a record's content: 2^14 bytes and 2048 of expansion (RFC 5246, section 6.2.3).
const MAX_RECORD_BYTES: u16 = (1 << 14) + 2_048;
/// Maximum number of segments kept beyond a missing one. A client's second flight has one or two
/// segments, with certificates of the client up to a dozen.
const MAX_AHEAD: usize = 16;
/// Bytes kept of a segment beyond a missing one: the headers are near its beginning.
const KEPT_BYTES: usize = 512;

const CHANGE_CIPHER_SPEC: u8 = 20;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
/// Type of the handshake message `ClientHello`.
const CLIENT_HELLO: u8 = 1;

/// The time of a TLS handshake, on the clock of the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsTimes {
    /// Time of the `ClientHello`.
    pub began: Timestamp,
    /// Time from which both ends may send data: in TLS 1.3, the time of the client's `Finished`; in
    /// earlier versions, the time of the later `Finished`. `None` if the capture has no end of the
    /// handshake.
    pub ended: Option<Timestamp>,
}

/// Finds the handshake in the payload of one connection.
#[derive(Debug, Default)]
pub struct TlsHandshake {
    state: State,
    client: Option<Client>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// No payload yet.
    #[default]
    Begin,
    /// The client's second flight is to come.
    Hello,
    /// The client sent its keys (TLS 1.2): the server's next flight ends the handshake.
    Keys,
    /// The client's data came before the server's answer (TLS 1.3, 0-RTT).
    Early,
    Ended(Timestamp),
    NotTls,
}

/// The client's stream.
#[derive(Debug)]
struct Client {
    direction: Direction,
    began: Timestamp,
    /// Offset of the next record header.
    next: StreamOffset,
    /// Time of a `ChangeCipherSpec` whose next record is to come.
    changed_at: Option<Timestamp>,
    server_has_answered: bool,
    ahead: Vec<(StreamOffset, u32, Vec<u8>)>,
}

/// The header of a record, and the beginning of its content.
struct Header<'a> {
    kind: u8,
    /// `None` if the header is not complete.
    bytes: Option<u16>,
    content: &'a [u8],
}

impl<'a> Header<'a> {
    /// Reads a header; `None` if nothing of it is there.
    fn at(bytes: &'a [u8]) -> Option<Self> {
        let kind = *bytes.first()?;
        let (header, content) = bytes
            .split_at_checked(HEADER_BYTES as usize)
            .unwrap_or((bytes, &[]));
        let length = header.get(3..HEADER_BYTES as usize);
        Some(Self {
            kind,
            bytes: length.map(|length| u16::from_be_bytes([length[0], length[1]])),
            content,
        })
    }

    /// True if version and length are possible, as far as they are there.
    fn is_plausible(bytes: &'a [u8]) -> bool {
        let header = Self::at(bytes);
        let is_version = bytes.get(1).is_none_or(|major| *major == 3);
        is_version
            && header.is_some_and(|header| {
                let kinds = CHANGE_CIPHER_SPEC..=APPLICATION_DATA;
                kinds.contains(&header.kind)
                    && header.bytes.is_none_or(|bytes| bytes <= MAX_RECORD_BYTES)
            })
    }

    /// Length of the message in a clear-text record that begins with a `ClientHello`, header
    /// included.
    fn client_hello_bytes(&self) -> Option<u32> {
        let [kind, length @ ..] = *self.content.first_chunk::<4>()?;
        let [high, middle, low] = length;
        let is_hello = self.kind == HANDSHAKE && kind == CLIENT_HELLO;
        is_hello.then(|| u32::from_be_bytes([0, high, middle, low]) + 4)
    }

    /// True for a record with exactly one clear-text `ClientHello`. The bytes of an encrypted message
    /// look like such a record with probability 2^-32.
    fn is_whole_client_hello(&self) -> bool {
        let bytes = self.client_hello_bytes();
        bytes.is_some() && bytes == self.bytes.map(u32::from)
    }
}

impl TlsHandshake {
    /// Takes the payload of the connection's next segment: the offset of its first byte, its length
    /// on the wire, and what the capture has of it.
    pub fn payload(
        &mut self,
        direction: Direction,
        at: Timestamp,
        start: StreamOffset,
        wire_bytes: u32,
        captured: &[u8],
    ) {
        if wire_bytes == 0 || matches!(self.state, State::Ended(_) | State::NotTls) {
            return;
        }
        let Some(client) = &mut self.client else {
            self.begin(direction, at, start, captured);
            return;
        };
        if client.direction != direction {
            self.answer(at, captured);
        } else if start.since(client.next) > 0 {
            if client.ahead.len() < MAX_AHEAD {
                let kept = captured[..captured.len().min(KEPT_BYTES)].to_vec();
                client.ahead.push((start, wire_bytes, kept));
            } else {
                self.state = State::Ended(at);
            }
        } else {
            self.records(at, start, wire_bytes, captured);
        }
    }

    /// The handshake so far; `None` if the connection has none.
    pub fn times(&self) -> Option<TlsTimes> {
        let client = self.client.as_ref()?;
        let ended = match self.state {
            State::NotTls => return None,
            State::Ended(at) => Some(at),
            State::Begin | State::Hello | State::Keys | State::Early => None,
        };
        Some(TlsTimes {
            began: client.began,
            ended,
        })
    }

    fn begin(
        &mut self,
        direction: Direction,
        began: Timestamp,
        start: StreamOffset,
        captured: &[u8],
    ) {
        let hello = Header::at(captured).filter(|header| {
            Header::is_plausible(captured) && header.client_hello_bytes().is_some()
        });
        let Some(bytes) = hello.and_then(|hello| hello.bytes) else {
            self.state = State::NotTls;
            return;
        };
        self.state = State::Hello;
        self.client = Some(Client {
            direction,
            began,
            next: start.plus(HEADER_BYTES + u32::from(bytes)),
            changed_at: None,
            server_has_answered: false,
            ahead: Vec::new(),
        });
    }

    fn answer(&mut self, at: Timestamp, captured: &[u8]) {
        let Some(client) = &mut self.client else {
            return;
        };
        let is_first = !std::mem::replace(&mut client.server_has_answered, true);
        if is_first && !captured.is_empty() && !Header::is_plausible(captured) {
            self.state = State::NotTls;
        } else if matches!(self.state, State::Keys | State::Early) {
            self.state = State::Ended(at);
        }
    }

    /// Reads the records that begin in a segment of the client, and in those that it makes
    /// contiguous.
    fn records(&mut self, at: Timestamp, start: StreamOffset, wire_bytes: u32, captured: &[u8]) {
        self.records_of(at, start, wire_bytes, captured);
        while let Some(client) = &mut self.client
            && matches!(self.state, State::Hello)
            && let next = client.next
            && let Some(index) = client
                .ahead
                .iter()
                .position(|(start, bytes, _)| (0..i64::from(*bytes)).contains(&next.since(*start)))
        {
            let (start, bytes, kept) = client.ahead.swap_remove(index);
            self.records_of(at, start, bytes, &kept);
        }
    }

    fn records_of(&mut self, at: Timestamp, start: StreamOffset, wire_bytes: u32, captured: &[u8]) {
        while let Some(client) = &mut self.client
            && matches!(self.state, State::Hello)
        {
            let skipped = client.next.since(start);
            if skipped >= i64::from(wire_bytes) {
                return;
            }
            let rest = usize::try_from(skipped)
                .ok()
                .and_then(|at| captured.get(at..));
            let header = rest.and_then(Header::at);
            match (header.as_ref().map(|header| header.kind), client.changed_at) {
                // TLS 1.3 after HelloRetryRequest: a second ClientHello.
                (Some(HANDSHAKE), _)
                    if header.as_ref().is_some_and(Header::is_whole_client_hello) =>
                {
                    client.changed_at = None;
                }
                // A resumed session of TLS 1.2: the client's Finished ends the handshake.
                (Some(HANDSHAKE), Some(changed_at)) => self.state = State::Ended(changed_at),
                (Some(HANDSHAKE), None) => self.state = State::Keys,
                (Some(CHANGE_CIPHER_SPEC), _) => client.changed_at = Some(at),
                (Some(APPLICATION_DATA), _) if !client.server_has_answered => {
                    self.state = State::Early;
                }
                // Data or an alert. Without a header here, the second flight is the best known time.
                (Some(_) | None, _) => self.state = State::Ended(at),
            }
            let bytes = header.and_then(|header| header.bytes);
            match (bytes, &mut self.client) {
                (Some(bytes), Some(client)) => {
                    client.next = client.next.plus(HEADER_BYTES + u32::from(bytes));
                }
                _ if matches!(self.state, State::Hello) => self.state = State::Ended(at),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{Forward, Reverse};
    use tcpexp_flow::SeqNum;
    use tcpexp_units::TimeDelta;

    fn record(kind: u8, content: &[u8]) -> Vec<u8> {
        let length = u16::try_from(content.len()).unwrap();
        [&[kind, 3, 3], &length.to_be_bytes()[..], content].concat()
    }

    fn client_hello() -> Vec<u8> {
        let mut message = vec![7; 200];
        message[..4].copy_from_slice(&[CLIENT_HELLO, 0, 0, 196]);
        record(HANDSHAKE, &message)
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_nanos(0) + TimeDelta::from_millis(millis)
    }

    /// The end of the handshake in `segments`, which are in order: direction, milliseconds, bytes. The
    /// capture has the first `kept` bytes of each segment.
    fn ended(kept: usize, segments: &[(Direction, i64, Vec<u8>)]) -> String {
        let mut handshake = TlsHandshake::default();
        let mut next = [StreamOffset::first(SeqNum(u32::MAX - 100)); 2];
        for (direction, millis, bytes) in segments {
            let start = &mut next[direction.index()];
            let length = u32::try_from(bytes.len()).unwrap();
            let captured = &bytes[..bytes.len().min(kept)];
            handshake.payload(*direction, at(*millis), *start, length, captured);
            *start = start.plus(length);
        }
        let Some(times) = handshake.times() else {
            return "no TLS".to_owned();
        };
        assert_eq!(times.began, at(0));
        times.ended.map_or("no end".to_owned(), |ended| {
            format!("{} ms", (ended - at(0)).as_nanos() / 1_000_000)
        })
    }

    fn server_hello() -> Vec<u8> {
        record(HANDSHAKE, &[2; 120])
    }

    fn changed() -> Vec<u8> {
        record(CHANGE_CIPHER_SPEC, &[1])
    }

    #[test]
    fn version_1_3_ends_with_the_finished_message_of_the_client() {
        let finished = [changed(), record(APPLICATION_DATA, &[9; 53])].concat();
        let segments = [
            (Forward, 0, client_hello()),
            (Reverse, 40, server_hello()),
            (Reverse, 41, record(APPLICATION_DATA, &[9; 900])),
            (Forward, 80, finished),
        ];
        for kept in [usize::MAX, 30] {
            assert_eq!(ended(kept, &segments), "80 ms");
        }
        assert_eq!(ended(usize::MAX, &segments[..3]), "no end");
    }

    #[test]
    fn a_second_hello_does_not_end_the_handshake() {
        let segments = [
            (Forward, 0, client_hello()),
            (Reverse, 40, server_hello()),
            (Forward, 80, [changed(), client_hello()].concat()),
            (Reverse, 120, server_hello()),
            (Forward, 160, record(APPLICATION_DATA, &[9; 53])),
        ];
        assert_eq!(ended(usize::MAX, &segments), "160 ms");
    }

    #[test]
    fn version_1_2_ends_with_the_answer_to_the_keys() {
        let keys = [record(HANDSHAKE, &[16; 70]), changed()].concat();
        let segments = [
            (Forward, 0, client_hello()),
            (Reverse, 40, server_hello()),
            (Forward, 80, keys),
            (Forward, 81, record(HANDSHAKE, &[200; 40])),
            (Reverse, 120, changed()),
        ];
        for kept in [usize::MAX, 30] {
            assert_eq!(ended(kept, &segments), "120 ms");
        }
    }

    #[test]
    fn a_resumed_session_ends_with_the_finished_message_of_the_client() {
        let segments = [
            (Forward, 0, client_hello()),
            (Reverse, 40, [server_hello(), changed()].concat()),
            (
                Forward,
                80,
                [changed(), record(HANDSHAKE, &[200; 40])].concat(),
            ),
        ];
        assert_eq!(ended(usize::MAX, &segments), "80 ms");
    }

    #[test]
    fn early_data_waits_for_the_server() {
        let segments = [
            (Forward, 0, client_hello()),
            (
                Forward,
                1,
                [changed(), record(APPLICATION_DATA, &[9; 300])].concat(),
            ),
            (Reverse, 40, server_hello()),
        ];
        assert_eq!(ended(usize::MAX, &segments), "40 ms");
    }

    #[test]
    fn a_lost_flight_is_read_once_it_is_there_again() {
        let mut handshake = TlsHandshake::default();
        let first = StreamOffset::first(SeqNum(1));
        let hello = client_hello();
        let (change, data) = (changed(), record(APPLICATION_DATA, &[9; 53]));
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap();
        let second = first.plus(length(&hello));
        let third = second.plus(length(&change));
        let mut pass = |direction, millis, start, bytes: &[u8]| {
            handshake.payload(direction, at(millis), start, length(bytes), bytes);
        };
        pass(Forward, 0, first, &hello);
        pass(Reverse, 40, first, &server_hello());
        pass(Forward, 80, third, &data);
        pass(Forward, 300, second, &change);
        let times = handshake.times().unwrap();
        assert_eq!(times.ended, Some(at(300)));
    }

    #[test]
    fn other_protocols_have_no_handshake() {
        let text = b"GET / HTTP/1.1".to_vec();
        assert_eq!(ended(99, &[(Forward, 0, text.clone())]), "no TLS");
        assert_eq!(
            ended(99, &[(Forward, 0, client_hello()), (Reverse, 9, text)]),
            "no TLS"
        );
    }
}
