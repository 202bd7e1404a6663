//! Torments: the defects of captures, and how to apply them.

use std::fmt;

use tcpexp_testkit::Prng;
use tcpexp_units::{TimeDelta, Timestamp};

use crate::clock::{Clock, Error};
use crate::edits::{
    disorder, duplicate, each_packet, repeat_datagrams, shift_sequence, translate,
    without_timestamps,
};
use crate::pair::Pair;

/// A time in the year 2061, in Unix time.
const YEAR_2061: Timestamp = Timestamp::from_nanos(2_871_763_200_000_000_000);
/// One defect of one or both captures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Torment {
    /// Hosts set the IPv4 Identification to zero.
    ZeroIpId,
    /// Datagrams of one stream differ only in the IPv4 Identification, which repeats after this
    /// many.
    WrappingUdp(u16),
    /// TCP segments carry no timestamps.
    NoTimestamps,
    /// The second capture shows the hosts with translated addresses and ports.
    Translated,
    /// A middlebox shifts the sequence numbers of each direction.
    ShiftedSequence,
    /// A capture misses random records, this many per million.
    CaptureLoss(usize, u32),
    /// The captures miss everything for a time, from this many millionths of the span on.
    Hole(Which, u32, TimeDelta),
    /// A capture starts late, by this many millionths of the span.
    LateStart(usize, u32),
    /// A capture ends early, by this many millionths of the span.
    EarlyEnd(usize, u32),
    /// A capture duplicates some records, this many per million.
    Duplicates(usize, u32),
    /// A capture's clock has an error.
    Clock(usize, Error),
    /// One record has a timestamp in the year 2061.
    Outlier(usize, u32),
    /// Records are displaced by up to this many places.
    Disorder(Which, u8),
    /// Records are truncated to this many bytes.
    Snaplen(Which, u32),
    /// One bit of a frame is flipped, in this many records per million.
    Bytes(usize, u32),
    /// This many bytes of the file are overwritten, record headers included.
    FileBytes(usize, u32),
    /// The file ends after this many millionths of its length.
    Truncated(usize, u32),
    /// The source and destination files are swapped.
    Swapped,
}

/// One or both captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// The capture with this index.
    One(usize),
    /// Both captures.
    Both,
}

impl Which {
    fn has(self, side: usize) -> bool {
        match self {
            Self::One(one) => one == side,
            Self::Both => true,
        }
    }
}

impl Torment {
    /// Number of kinds.
    pub(crate) const KINDS: u64 = 22;

    /// Draws the parameters of the kind with number `kind`.
    pub(crate) fn draw(kind: u64, dice: &mut Prng) -> Self {
        let side = usize::from(dice.chance_ppm(500_000));
        let which = match dice.below(3) {
            0 => Which::Both,
            _ => Which::One(side),
        };
        let ppm = dice.below(1_000_000) as u32;
        match kind {
            0 => Self::ZeroIpId,
            1 => Self::WrappingUdp(one_of(dice, &[64, 256, 1024, 0])),
            2 => Self::NoTimestamps,
            3 => Self::Translated,
            4 => Self::ShiftedSequence,
            5 | 6 => Self::CaptureLoss(side, one_of(dice, &[1_000, 10_000, 50_000])),
            7 => Self::Hole(
                which,
                ppm,
                TimeDelta::from_millis(one_of(dice, &[50, 300, 1_000, 2_500])),
            ),
            8 => Self::LateStart(side, ppm / 3),
            9 => Self::EarlyEnd(side, ppm / 3),
            10 => Self::Duplicates(side, one_of(dice, &[1_000, 20_000, 1_000_000])),
            11 => {
                let seconds = one_of(dice, &[-3, 1, 7_200, -86_400, 31_536_000]);
                Self::Clock(side, Error::Offset(TimeDelta::from_seconds(seconds)))
            }
            12 => Self::Clock(side, Error::Skew(one_of(dice, &[-150, -20, 10, 50, 200]))),
            13 | 14 => {
                let micros = one_of(dice, &[-5_000, -1_000, -100, 100, 300, 1_000, 2_000, 5_000]);
                Self::Clock(side, Error::Step(ppm, TimeDelta::from_micros(micros)))
            }
            15 => {
                let slope_ppm = one_of(dice, &[-200, 50, 100, 500]);
                let period = TimeDelta::from_millis(one_of(dice, &[1_000, 4_000, 10_000]));
                Self::Clock(side, Error::SawTooth(slope_ppm, period))
            }
            16 => {
                let tick = TimeDelta::from_millis(one_of(dice, &[1, 10, 100]));
                Self::Clock(side, Error::Coarse(tick))
            }
            17 => Self::Outlier(side, ppm),
            18 => Self::Disorder(which, one_of(dice, &[1, 2, 5])),
            19 => Self::Snaplen(which, one_of(dice, &[60, 68, 82])),
            20 => match dice.below(3) {
                0 => Self::Bytes(side, one_of(dice, &[1_000, 20_000])),
                1 => Self::FileBytes(side, one_of(dice, &[1, 5, 50])),
                _ => Self::Truncated(side, ppm),
            },
            _ => Self::Swapped,
        }
    }

    /// True if the torment can change these captures.
    pub(crate) fn applies_to(self, pair: &Pair) -> bool {
        !matches!(self, Self::WrappingUdp(_)) || pair.has_udp
    }

    /// Name for tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ZeroIpId => "IP ID zero",
            Self::WrappingUdp(_) => "UDP that repeats",
            Self::NoTimestamps => "no timestamps",
            Self::Translated => "translation",
            Self::ShiftedSequence => "shifted sequence",
            Self::CaptureLoss(..) => "capture loss",
            Self::Hole(Which::Both, ..) => "hole in both",
            Self::Hole(..) => "hole in one",
            Self::LateStart(..) => "late start",
            Self::EarlyEnd(..) => "early end",
            Self::Duplicates(..) => "duplicates",
            Self::Clock(_, error) => error.name(),
            Self::Outlier(..) => "year 2061",
            Self::Disorder(..) => "disorder",
            Self::Snaplen(..) => "snaplen",
            Self::Bytes(..) => "damaged packets",
            Self::FileBytes(..) => "damaged file",
            Self::Truncated(..) => "truncated file",
            Self::Swapped => "swapped files",
        }
    }

    /// Order of application: hosts, middleboxes, captures, files.
    pub(crate) fn stage(self) -> u8 {
        match self {
            Self::ZeroIpId | Self::WrappingUdp(_) | Self::NoTimestamps => 0,
            Self::Translated | Self::ShiftedSequence => 1,
            Self::CaptureLoss(..)
            | Self::Hole(..)
            | Self::LateStart(..)
            | Self::EarlyEnd(..)
            | Self::Duplicates(..) => 2,
            // Rounding applies to the reading of the clock, after all other clock errors.
            Self::Clock(_, Error::Coarse(_)) => 4,
            Self::Clock(..) => 3,
            Self::Outlier(..) => 5,
            Self::Disorder(..) => 6,
            Self::Snaplen(..) => 7,
            Self::Bytes(..) => 8,
            Self::FileBytes(..) | Self::Truncated(..) => 9,
            Self::Swapped => 10,
        }
    }

    /// Changes the records; [`damage`](Self::damage) changes the files.
    pub(crate) fn apply(self, pair: &mut Pair, clocks: &mut [Clock; 2], dice: &mut Prng) {
        let span = span(pair);
        let within = |ppm: u32| span.0 + part(span.1 - span.0, ppm);
        match self {
            Self::ZeroIpId => each_packet(pair, |_, record, headers| {
                if let Some(field) = headers.ip_id() {
                    headers.write(&mut record.frame, field.start, &[0, 0]);
                }
            }),
            Self::WrappingUdp(period) => repeat_datagrams(pair, period),
            Self::NoTimestamps => each_packet(pair, without_timestamps),
            Self::Translated => each_packet(pair, translate),
            Self::ShiftedSequence => each_packet(pair, shift_sequence),
            Self::CaptureLoss(side, ppm) => {
                pair.sides[side].records.retain(|_| !dice.chance_ppm(ppm));
            }
            Self::Hole(which, ppm, length) => {
                let start = within(ppm);
                for (number, side) in pair.sides.iter_mut().enumerate() {
                    if which.has(number) {
                        side.records
                            .retain(|r| r.true_at < start || r.true_at >= start + length);
                    }
                }
            }
            Self::LateStart(side, ppm) => {
                let start = within(ppm);
                pair.sides[side].records.retain(|r| r.true_at >= start);
            }
            Self::EarlyEnd(side, ppm) => {
                let end = within(1_000_000 - ppm);
                pair.sides[side].records.retain(|r| r.true_at < end);
            }
            Self::Duplicates(side, ppm) => duplicate(&mut pair.sides[side], ppm, dice),
            Self::Clock(side, error) => {
                clocks[side].add(error, span);
                for record in &mut pair.sides[side].records {
                    record.at = clocks[side].shows(record.true_at);
                }
            }
            Self::Outlier(side, ppm) => {
                let records = &mut pair.sides[side].records;
                let place = records.len() as u64 * u64::from(ppm) / 1_000_000;
                if let Some(record) = records.get_mut(place as usize) {
                    record.at = YEAR_2061;
                }
            }
            Self::Disorder(which, places) => {
                for (number, side) in pair.sides.iter_mut().enumerate() {
                    if which.has(number) {
                        disorder(&mut side.records, places, dice);
                    }
                }
            }
            Self::Snaplen(which, bytes) => {
                for (number, side) in pair.sides.iter_mut().enumerate() {
                    if which.has(number) {
                        for record in &mut side.records {
                            record.frame.truncate(bytes as usize);
                        }
                    }
                }
            }
            Self::Bytes(side, ppm) => {
                for record in &mut pair.sides[side].records {
                    if dice.chance_ppm(ppm) && !record.frame.is_empty() {
                        let place = dice.below(record.frame.len() as u64) as usize;
                        record.frame[place] ^= 1 << dice.below(8);
                    }
                }
            }
            Self::Swapped => {
                pair.sides.swap(0, 1);
                clocks.swap(0, 1);
            }
            Self::FileBytes(..) | Self::Truncated(..) => {}
        }
    }

    /// True if record numbers may differ from those of the undamaged file.
    pub(crate) fn renumbers(self) -> bool {
        matches!(self, Self::FileBytes(..))
    }

    /// Damages the files.
    pub(crate) fn damage(self, files: &mut [Vec<u8>; 2], dice: &mut Prng) {
        match self {
            Self::FileBytes(side, count) => {
                for _ in 0..count {
                    let place = dice.below(files[side].len() as u64) as usize;
                    files[side][place] = dice.below(256) as u8;
                }
            }
            Self::Truncated(side, ppm) => {
                let end = files[side].len() as u64 * u64::from(ppm) / 1_000_000;
                files[side].truncate(end as usize);
            }
            _ => {}
        }
    }
}

fn one_of<T: Copy>(dice: &mut Prng, choices: &[T]) -> T {
    choices[dice.below(choices.len() as u64) as usize]
}

impl fmt::Display for Torment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// Returns the first and the last true time of both captures.
fn span(pair: &Pair) -> (Timestamp, Timestamp) {
    let times = || {
        pair.sides
            .iter()
            .flat_map(|side| &side.records)
            .map(|r| r.true_at)
    };
    let zero = Timestamp::from_nanos(0);
    (times().min().unwrap_or(zero), times().max().unwrap_or(zero))
}

fn part(whole: TimeDelta, ppm: u32) -> TimeDelta {
    TimeDelta::from_nanos(whole.as_nanos() / 1_000_000 * i64::from(ppm))
}
