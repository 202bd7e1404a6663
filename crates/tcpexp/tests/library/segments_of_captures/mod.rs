//! Retransmitted and reordered segments, checked one by one against the other end's capture and the
//! kernel.

mod at_sender;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::common::packets::{Ends, Seen, read};
use crate::common::{captures_in, fixture_folders, shared_folders};
use rayon::prelude::*;
use tcpexp::{Error, Recording};
use tcpexp_flow::{Direction, Flow, Segment, StreamOffset};
use tcpexp_measure::flows::Connection;
use tcpexp_measure::{Meter, meter};
use tcpexp_units::Timestamp;
use tcpexp_wire::Tunnels;

/// Classification of an out-of-sequence segment with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Verdict {
    Retransmitted,
    Reordered,
    Undecided,
    /// A duplicate record or a probe.
    Other,
}

impl Verdict {
    const ALL: [Self; 4] = [
        Self::Retransmitted,
        Self::Reordered,
        Self::Undecided,
        Self::Other,
    ];
}

/// Classifies each out-of-sequence segment by the change of the connection's counts.
struct Watch {
    flow: Flow,
    connection: Connection,
    nxt: [Option<StreamOffset>; 2],
}

impl Watch {
    fn counts(&mut self, direction: Direction) -> [u64; 3] {
        let of = &self.connection.summary(&self.flow).directions[direction.index()];
        [
            of.retransmissions().packets,
            of.rare().reordered_packets,
            of.rare().undecided_packets,
        ]
    }
}

impl Meter for Watch {
    /// Record number and classification.
    type Row = (u64, Verdict);

    fn segment(&mut self, segment: &Segment, rows: &mut impl Extend<Self::Row>) {
        let direction = segment.seen.direction;
        let nxt = &mut self.nxt[direction.index()];
        let is_behind = nxt.is_some_and(|nxt| segment.start < nxt);
        *nxt = (*nxt).max(Some(segment.end()));
        if !is_behind || segment.seen.payload_bytes == 0 {
            self.connection.see(segment);
            return;
        }
        let before = self.counts(direction);
        self.connection.see(segment);
        let after = self.counts(direction);
        let verdicts = [
            Verdict::Retransmitted,
            Verdict::Reordered,
            Verdict::Undecided,
        ];
        let changed = verdicts
            .into_iter()
            .zip(before.into_iter().zip(after))
            .find(|(_, (before, after))| before != after);
        let verdict = changed.map_or(Verdict::Other, |(verdict, _)| verdict);
        rows.extend([(segment.seen.record, verdict)]);
    }

    fn end(&mut self, _: &Flow, _: &mut impl Extend<Self::Row>) {}
}

/// Returns the classification of each out-of-sequence record of a capture.
fn verdicts(path: &Path) -> HashMap<u64, Verdict> {
    let recording = Recording::open(path).unwrap();
    let mut all = HashMap::new();
    let begin = |flow: &Flow| Watch {
        flow: *flow,
        connection: Connection::default(),
        nxt: [None; 2],
    };
    meter(
        &mut recording.walk(Tunnels::default()).unwrap(),
        begin,
        |rows| {
            all.extend(rows);
            Ok::<(), Error>(())
        },
    )
    .unwrap();
    all
}

/// The folders next to this repository, or the fixtures, which are parts of them.
fn folders() -> Vec<PathBuf> {
    let shared = shared_folders();
    if shared.is_empty() {
        fixture_folders()
    } else {
        shared
    }
}

/// A data segment at its sender.
struct Departure {
    at: Timestamp,
    seq: u32,
    payload_bytes: u32,
    ip_id: Option<u16>,
    tsval: Option<u32>,
    /// True if some of its bytes had been sent before.
    is_retransmission: bool,
}

/// Serial number arithmetic (RFC 1982), implemented separately from the code under test.
fn is_before(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) > 1 << 31
}

/// Returns the data segments in order, by sender and receiver.
fn departures(packets: &[Seen]) -> HashMap<Ends, Vec<Departure>> {
    let mut all: HashMap<Ends, Vec<Departure>> = HashMap::new();
    let mut furthest: HashMap<Ends, u32> = HashMap::new();
    for packet in packets.iter().filter(|p| p.is_tcp && p.payload_bytes > 0) {
        let end = packet.seq.wrapping_add(packet.payload_bytes);
        let known = furthest.entry(packet.ends).or_insert(packet.seq);
        all.entry(packet.ends).or_default().push(Departure {
            at: packet.at,
            seq: packet.seq,
            payload_bytes: packet.payload_bytes,
            ip_id: packet.ip_id,
            tsval: packet.timestamps.map(|(tsval, _)| tsval),
            is_retransmission: is_before(packet.seq, *known),
        });
        if is_before(*known, end) {
            *known = end;
        }
    }
    all
}

/// Maximum number of segments in a super-packet of 64 KiB.
const MAX_SEGMENTS: u16 = 64;

/// True if `departure` carried the first byte of `arrival`.
fn is_carrier(departure: &Departure, arrival: &Seen) -> bool {
    let ahead = arrival.seq.wrapping_sub(departure.seq);
    let ids = arrival.ip_id.zip(departure.ip_id);
    let is_id = ids.is_none_or(|(ours, theirs)| match ours.wrapping_sub(theirs) {
        0 => ahead == 0,
        id => ahead > 0 && id < MAX_SEGMENTS,
    });
    ahead < departure.payload_bytes
        && departure.tsval == arrival.timestamps.map(|(tsval, _)| tsval)
        && is_id
}

/// Out-of-sequence segments at the receiver, by true kind and classification.
#[derive(Clone, Debug, Default)]
struct Score {
    counts: HashMap<(bool, Verdict), u64>,
    unmatched: u64,
    /// Retransmissions that arrived in sequence: they filled the gap at the end of the stream.
    in_place: u64,
}

impl Score {
    fn of(&self, is_retransmission: bool, verdict: Verdict) -> u64 {
        let key = (is_retransmission, verdict);
        self.counts.get(&key).copied().unwrap_or_default()
    }

    fn right(&self) -> u64 {
        self.of(true, Verdict::Retransmitted) + self.of(false, Verdict::Reordered)
    }

    fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    fn add(&mut self, other: &Self) {
        for (key, count) in &other.counts {
            *self.counts.entry(*key).or_default() += count;
        }
        self.unmatched += other.unmatched;
        self.in_place += other.in_place;
    }

    fn line(&self, name: &str) -> String {
        let cells = [true, false].map(|truth| {
            let counts = Verdict::ALL.map(|verdict| self.of(truth, verdict));
            counts.map(|count| format!("{count:6}")).concat()
        });
        let [sent_again, overtaken] = cells;
        let [unmatched, in_place] = [self.unmatched, self.in_place];
        format!("{name:25} | {sent_again} | {overtaken} | {unmatched:7} {in_place:7}")
    }
}

fn score(folder: &Path) -> Score {
    let (at_sender, at_receiver) = captures_in(folder).unwrap();
    let departures = departures(&read(&at_sender));
    let again: Vec<_> = departures
        .iter()
        .flat_map(|(ends, sent)| sent.iter().map(move |departure| (ends, departure)))
        .filter(|(_, departure)| departure.is_retransmission)
        .collect();
    let verdicts = verdicts(&at_receiver);
    let mut score = Score::default();
    let is_data = |packet: &Seen| packet.is_tcp && packet.payload_bytes > 0;
    for arrival in read(&at_receiver).into_iter().filter(is_data) {
        let Some(verdict) = verdicts.get(&arrival.record) else {
            let is_again = again
                .iter()
                .any(|(ends, again)| **ends == arrival.ends && is_carrier(again, &arrival));
            score.in_place += u64::from(is_again);
            continue;
        };
        let departures = departures.get(&arrival.ends).map_or(&[][..], Vec::as_slice);
        let carriers: Vec<_> = departures
            .iter()
            .filter(|d| is_carrier(d, &arrival))
            .collect();
        if let [departure] = carriers[..] {
            let key = (departure.is_retransmission, *verdict);
            *score.counts.entry(key).or_default() += 1;
        } else {
            score.unmatched += 1;
        }
    }
    score
}

fn name(folder: &Path) -> String {
    folder.file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn reordering_is_distinguished_from_retransmission_at_the_receiver() {
    println!(
        "{:25} | {:24} | {:24} | unknown  filled",
        "", "retransmitted, found as", "overtaken, found as"
    );
    let columns = "resent reord undec other";
    println!("{:25} | {columns} | {columns} |          place", "");
    let mut all = Score::default();
    let scores: Vec<_> = folders()
        .into_par_iter()
        .map(|folder| (name(&folder), score(&folder)))
        .collect();
    for (name, score) in scores {
        println!("{}", score.line(&name));
        all.add(&score);
    }
    println!("{}", all.line("all"));
    println!("{} of {} right", all.right(), all.total());
    assert!(all.total() > 200);
    assert!(all.unmatched * 100 <= all.total());
    assert!(all.right() * 100 >= all.total() * 99);
    // The counts equal the number of out-of-sequence arrivals.
    let counted = all.of(true, Verdict::Retransmitted) + all.of(false, Verdict::Retransmitted);
    let arrived: u64 = Verdict::ALL
        .map(|verdict| all.of(true, verdict))
        .iter()
        .sum();
    assert!(
        counted.abs_diff(arrived) * 100 <= arrived,
        "{counted} of {arrived}"
    );
}
