//! One case: a pair of captures and its torments, all derived from one seed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tcpexp_testkit::{CaptureWriter, Container, Endian, Interface, Prng, Resolution};

use crate::clock::Clock;
use crate::judge::judge;
use crate::pair::{Pair, Side};
use crate::torment::Torment;
use crate::verdict::{Fault, Rates, Verdict};

/// Snapshot length of the written files in bytes; frames are truncated before.
const SNAPLEN: u32 = 262_144;

/// A clean pair of captures, with the results measured on it.
#[derive(Debug)]
pub(crate) struct Base {
    /// The clean captures.
    pub(crate) pair: Pair,
    /// Results of the clean captures, and their faults, if any.
    pub(crate) clean: Verdict,
}

impl Base {
    /// Measures the clean captures.
    pub(crate) fn new(pair: Pair) -> Self {
        let files = pair.sides.each_ref().map(written);
        let clean = guarded(|| judge(&files, &pair, &Default::default(), Rates::default(), true));
        Self { pair, clean }
    }
}

/// A pair and the torments applied to it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Seed that determines the case.
    pub(crate) seed: u64,
    /// Index of the pair.
    pub(crate) base: usize,
    /// Two or three torments in order of application.
    pub(crate) torments: Vec<Torment>,
}

impl Case {
    /// Draws a case from the seed; `kinds` are the kinds of torments to draw from.
    pub(crate) fn draw(seed: u64, bases: &[Base], kinds: &[u64]) -> Self {
        let mut dice = Prng::new(seed.wrapping_mul(0x2545_F491_4F6C_DD1D));
        let base = dice.below(bases.len() as u64) as usize;
        let wanted = (2 + dice.below(2)).min(kinds.len() as u64) as usize;
        let mut left = kinds.to_vec();
        let mut torments: Vec<Torment> = Vec::new();
        while torments.len() < wanted && !left.is_empty() {
            let kind = left.swap_remove(dice.below(left.len() as u64) as usize);
            let torment = Torment::draw(kind, &mut dice);
            if torment.applies_to(&bases[base].pair) {
                torments.push(torment);
            }
        }
        torments.sort_by_key(|torment| torment.stage());
        Self {
            seed,
            base,
            torments,
        }
    }

    /// Applies the torments. Returns the two files, the true records and the true clocks.
    pub(crate) fn tormented(&self, bases: &[Base]) -> ([Vec<u8>; 2], Pair, [Clock; 2]) {
        let mut dice = Prng::new(!self.seed);
        let mut pair = bases[self.base].pair.clone();
        let mut clocks: [Clock; 2] = Default::default();
        for torment in &self.torments {
            torment.apply(&mut pair, &mut clocks, &mut dice);
        }
        let mut files = pair.sides.each_ref().map(written);
        for torment in &self.torments {
            torment.damage(&mut files, &mut dice);
        }
        (files, pair, clocks)
    }

    /// Applies the torments, measures the files and compares the results with the truth.
    pub(crate) fn run(&self, bases: &[Base]) -> Verdict {
        let (files, pair, clocks) = self.tormented(bases);
        let mut rates = bases[self.base].clean.bottleneck_bps;
        if self.torments.contains(&Torment::Swapped) {
            rates.reverse();
        }
        let is_numbered = !self.torments.iter().any(|torment| torment.renumbers());
        guarded(|| judge(&files, &pair, &clocks, rates, is_numbered))
    }
}

/// Returns a capture file with the records of `side`.
fn written(side: &Side) -> Vec<u8> {
    let interface = Interface {
        link_type: side.link_type,
        snaplen: SNAPLEN,
        resolution: Resolution::Nanos,
    };
    let mut writer = CaptureWriter::new(Vec::new(), Container::Pcap, Endian::Little, &[interface])
        .expect("memory takes all writes");
    for record in &side.records {
        writer
            .write(record.at, &record.frame, record.wire_bytes)
            .expect("memory takes all writes");
    }
    writer.into_inner()
}

/// Returns the verdict of `run`; a panic becomes a fault in the verdict.
fn guarded(run: impl FnOnce() -> Verdict) -> Verdict {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        let mut verdict = Verdict::default();
        verdict.blame(Fault::Panic, || text.unwrap_or_default());
        verdict
    })
}
