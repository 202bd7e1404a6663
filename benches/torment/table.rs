//! Prints results as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::case::{Base, Case};
use crate::verdict::{Fault, Verdict};

/// Maximum number of faulty seeds in a table row.
const NAMED: usize = 8;

/// Prints one case: its torments, its results and its faults.
pub(crate) fn case(case: &Case, verdict: &Verdict, bases: &[Base]) -> String {
    let mut text = String::new();
    let torments: Vec<String> = case.torments.iter().map(ToString::to_string).collect();
    let name = &bases[case.base].pair.name;
    let _ = writeln!(text, "case {}: {name}: {}", case.seed, torments.join(" + "));
    let _ = writeln!(
        text,
        "    {} of {} samples, {} delivered, {} lost, {} unknown",
        verdict.samples,
        bases[case.base].clean.samples,
        verdict.delivered,
        verdict.lost,
        verdict.unknown
    );
    if let Some(refusal) = &verdict.refusal {
        let _ = writeln!(text, "    refused: {refusal}");
    }
    for (fault, (count, first)) in &verdict.faults {
        let _ = writeln!(text, "    {count} × {fault}: {first}");
    }
    text
}

/// Prints the clean captures and their faults.
pub(crate) fn clean(bases: &[Base]) -> String {
    let mut text = String::from("\nclean captures                    records   samples  faults\n");
    for base in bases {
        let records: usize = base.pair.sides.iter().map(|side| side.records.len()).sum();
        let faults: Vec<&str> = base.clean.faults.keys().map(|fault| fault.name()).collect();
        let _ = writeln!(
            text,
            "{:32} {records:>8} {:>9}  {}",
            base.pair.name,
            base.clean.samples,
            faults.join(", ")
        );
    }
    text
}

/// Prints totals by torment and by fault.
pub(crate) fn summary(results: &[(Case, Verdict)], bases: &[Base]) -> String {
    let mut torments: BTreeMap<&str, Sum> = BTreeMap::new();
    let mut faults: BTreeMap<Fault, (u64, Vec<u64>)> = BTreeMap::new();
    let mut all = Sum::default();
    for (case, verdict) in results {
        let clean = bases[case.base].clean.samples;
        for torment in &case.torments {
            torments
                .entry(torment.name())
                .or_default()
                .add(verdict, clean);
        }
        all.add(verdict, clean);
        for (fault, (count, _)) in &verdict.faults {
            let (sum, seeds) = faults.entry(*fault).or_default();
            *sum += count;
            seeds.push(case.seed);
        }
    }
    let mut text =
        String::from("\ntorment              cases  faulty  refused    samples  coverage\n");
    for (name, sum) in torments
        .iter()
        .map(|(name, sum)| (*name, sum))
        .chain([("all", &all)])
    {
        let share = 100.0 * sum.samples as f64 / sum.clean.max(1) as f64;
        let _ = writeln!(
            text,
            "{name:20} {:>5} {:>7} {:>8} {:>10} {share:>8.1}%",
            sum.cases, sum.faulty, sum.refused, sum.samples
        );
    }
    let _ = writeln!(
        text,
        "\n{} packets lost, {} of them missed by a capture alone",
        all.lost, all.missed_called_lost
    );
    text += "\nfault                       cases      count  first cases\n";
    for (fault, (count, seeds)) in &faults {
        let first: Vec<String> = seeds.iter().take(NAMED).map(ToString::to_string).collect();
        let _ = writeln!(
            text,
            "{fault:26} {:>6} {count:>10}  {}",
            seeds.len(),
            first.join(" ")
        );
    }
    text
}

#[derive(Default)]
struct Sum {
    cases: u64,
    faulty: u64,
    refused: u64,
    samples: u64,
    clean: u64,
    lost: u64,
    missed_called_lost: u64,
}

impl Sum {
    fn add(&mut self, verdict: &Verdict, clean: u64) {
        self.cases += 1;
        self.faulty += u64::from(!verdict.faults.is_empty());
        self.refused += u64::from(verdict.refusal.is_some());
        self.samples += verdict.samples;
        self.clean += clean;
        self.lost += verdict.lost;
        self.missed_called_lost += verdict.missed_called_lost;
    }
}
