//! Two captures of one path, and which record of one holds which packet of the other.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::Path;

use tcpexp_capture::Capture;
use tcpexp_testkit::{Fate, Point, Scenario, Sightings, Truth, simulate};
use tcpexp_units::Timestamp;

use crate::headers::Headers;
use crate::identity;

/// Number of a packet as its host sent it. Copies have the number of their original; packets that
/// even the clean captures cannot tell apart share one.
pub(crate) type PacketId = u32;

/// One record of a capture.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// When the packet passed, on the clock that both clean captures share.
    pub(crate) true_at: Timestamp,
    /// When the packet passed, on this capture's clock.
    pub(crate) at: Timestamp,
    /// The captured bytes.
    pub(crate) frame: Vec<u8>,
    /// Length on the wire in bytes.
    pub(crate) wire_bytes: u32,
    /// The packets in it: several for a super-packet, none if it holds no TCP or UDP packet.
    pub(crate) ids: Vec<PacketId>,
}

/// One capture.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    /// Link type of the frames.
    pub(crate) link_type: u32,
    /// The records in the order of the file.
    pub(crate) records: Vec<Record>,
}

/// What the network did with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// It arrived, whatever the captures say.
    Arrived,
    /// The network lost it.
    Lost,
    /// The clean captures do not show it.
    Unknown,
}

/// Two captures with known truth.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    /// What to call it.
    pub(crate) name: String,
    /// The capture at the source and the capture at the destination.
    pub(crate) sides: [Side; 2],
    /// What became of each packet, by [`PacketId`].
    pub(crate) passages: Vec<Passage>,
    /// Whether a stream of UDP is in it.
    pub(crate) has_udp: bool,
}

impl Pair {
    /// Reads both captures of `folder`, whose clocks must be one clock.
    pub(crate) fn read(name: &str, folder: &Path) -> Option<Self> {
        let files = [
            ["src.pcap.gz", "dst.pcap.gz"],
            ["snd.pcap.gz", "rcv.pcap.gz"],
        ]
        .map(|names| names.map(|name| folder.join(name)))
        .into_iter()
        .find(|files| files.iter().all(|file| file.exists()))?;
        let mut sides = files.map(|file| Side::read(&file));
        let passages = identity::assign(&mut sides);
        Some(Self::new(name.to_owned(), sides, passages))
    }

    /// Simulates both captures.
    pub(crate) fn simulated(name: &str, scenario: &Scenario) -> Self {
        let captures = simulate(scenario);
        let truth = &captures.truth;
        let side = |bytes: &[u8], point| {
            let mut side =
                Side::of(Capture::from_bytes(bytes).expect("the simulator writes captures"));
            side.learn(truth, point);
            side
        };
        let sides = [
            side(&captures.src, Point::Src),
            side(&captures.dst, Point::Dst),
        ];
        let mut passages = vec![Passage::Lost; truth.packets.len()];
        for (id, packet) in (0..).zip(&truth.packets) {
            // A packet whose copy arrived has arrived.
            if packet.fate == Fate::Arrived {
                passages[place(truth.original(id))] = Passage::Arrived;
            }
        }
        Self::new(name.to_owned(), sides, passages)
    }

    fn new(name: String, sides: [Side; 2], passages: Vec<Passage>) -> Self {
        let is_udp = |record: &Record| {
            Headers::find(sides[0].link_type, &record.frame).is_some_and(|headers| !headers.is_tcp)
        };
        let has_udp = sides[0].records.iter().filter(|r| is_udp(r)).count() > 20;
        Self {
            name,
            sides,
            passages,
            has_udp,
        }
    }

    /// The same up to the time at which one capture has this many records.
    pub(crate) fn first(mut self, records: usize) -> Self {
        let times = self
            .sides
            .iter()
            .filter_map(|side| side.records.get(records));
        if let Some(end) = times.map(|record| record.true_at).min() {
            for side in &mut self.sides {
                side.records.retain(|record| record.true_at < end);
            }
        }
        self
    }

    /// Whether two records hold a packet in common.
    pub(crate) fn is_same(one: &Record, other: &Record) -> bool {
        one.ids.iter().any(|id| other.ids.contains(id))
    }

    /// Whether the network delivered all packets of a record.
    pub(crate) fn arrived(&self, record: &Record) -> bool {
        let arrived = |id: &PacketId| self.passages[*id as usize] == Passage::Arrived;
        !record.ids.is_empty() && record.ids.iter().all(arrived)
    }
}

impl Side {
    fn read(path: &Path) -> Self {
        let file = File::open(path).expect("the file was there");
        Self::of(Capture::from_file(file).expect("captures with truth can be read"))
    }

    fn of(mut capture: Capture<'_>) -> Self {
        let mut records = Vec::new();
        let mut link_type = 1;
        while let Some(record) = capture.next_record() {
            let at = record.at.expect("captures with truth have timestamps");
            link_type = record.link_type.into();
            records.push(Record {
                true_at: at,
                at,
                frame: record.captured.to_vec(),
                wire_bytes: record.wire_bytes,
                ids: Vec::new(),
            });
        }
        Self { link_type, records }
    }

    fn learn(&mut self, truth: &Truth, point: Point) {
        let sightings: &Sightings = truth.sightings(point);
        for (ordinal, record) in self.records.iter_mut().enumerate() {
            record.true_at = sightings.records()[ordinal].at;
            let packets = sightings.packets(ordinal).iter();
            record.ids = packets
                .map(|id| u32::try_from(truth.original(*id)).expect("fewer than 2^32 packets"))
                .collect();
        }
    }

    /// The packets in all records.
    pub(crate) fn ids(&self) -> HashSet<PacketId> {
        let ids = self.records.iter().flat_map(|record| &record.ids);
        ids.copied().collect()
    }

    /// The records that show a time, by this capture's clock.
    pub(crate) fn by_time(&self) -> HashMap<Timestamp, Vec<usize>> {
        let mut places: HashMap<_, Vec<usize>> = HashMap::new();
        for (place, record) in self.records.iter().enumerate() {
            places.entry(record.at).or_default().push(place);
        }
        places
    }
}

fn place(id: u64) -> usize {
    usize::try_from(id).expect("packets fit in memory")
}
