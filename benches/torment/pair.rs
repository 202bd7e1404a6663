//! Two captures of one path, with the true packets in each record.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::Path;

use tcpexp_capture::Capture;
use tcpexp_testkit::{Fate, Point, Scenario, Sightings, Truth, simulate};
use tcpexp_units::Timestamp;

use crate::headers::Headers;
use crate::identity;

/// Id of a packet as sent by its host. A duplicate has the id of its original. Packets that even
/// the clean captures do not distinguish share one id.
pub(crate) type PacketId = u32;

/// One record of a capture.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// Time when the packet passed, on the common clock of both clean captures.
    pub(crate) true_at: Timestamp,
    /// Time when the packet passed, on this capture's clock.
    pub(crate) at: Timestamp,
    /// The captured bytes.
    pub(crate) frame: Vec<u8>,
    /// Length on the wire in bytes.
    pub(crate) wire_bytes: u32,
    /// Ids of its packets: several for a super-packet, none if the record holds no TCP or UDP
    /// packet.
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

/// The fate of a packet in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// The packet arrived, even if a capture misses it.
    Arrived,
    /// The network lost it.
    Lost,
    /// The clean captures do not show the fate.
    Unknown,
}

/// Two captures with known truth.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    /// Name for tables and options.
    pub(crate) name: String,
    /// The source capture and the destination capture.
    pub(crate) sides: [Side; 2],
    /// The passage of each packet, indexed by [`PacketId`].
    pub(crate) passages: Vec<Passage>,
    /// True if the pair contains a UDP stream.
    pub(crate) has_udp: bool,
}

impl Pair {
    /// Reads both captures in `folder`; their clocks must be one clock.
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
            // A packet counts as arrived if its duplicate arrived.
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

    /// Cuts both captures at the time at which one of them reaches `records` records.
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

    /// True if two records have a packet in common.
    pub(crate) fn is_same(one: &Record, other: &Record) -> bool {
        one.ids.iter().any(|id| other.ids.contains(id))
    }

    /// True if the network delivered all packets of a record.
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

    /// The ids of all packets in the records.
    pub(crate) fn ids(&self) -> HashSet<PacketId> {
        let ids = self.records.iter().flat_map(|record| &record.ids);
        ids.copied().collect()
    }

    /// The indices of the records by timestamp, on this capture's clock.
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
