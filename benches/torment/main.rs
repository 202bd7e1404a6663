//! Damages captures with known truth and checks that no result is wrong.
//!
//! ```text
//! torment [--runs N] [--from SEED] [--only SEED] [--captures DIR]… [--records N]
//!         [--kinds NAME,…] [--pair NAME] [--keep DIR]
//! ```
//! Each case takes a pair of captures, applies two or three random [torments](torment::Torment) and
//! runs `path`. It compares every packet, loss, delay, round-trip time and clock with the truth. A
//! seed determines a case: the same seed with the same options gives the same case. The program
//! prints a line for each fault and two tables, and fails if a case has a fault.
//!
//! - `--runs N` and `--from SEED`: run the cases SEED to SEED + N - 1 (default: 500, from 0).
//! - `--only SEED`: run one case and print all details.
//! - `--captures DIR`: add the pairs in the folders of DIR to the fixtures and the simulated paths.
//! - `--records N`: read only the first N records of each capture file.
//! - `--kinds NAME,…`: draw from these torments only; `--pair NAME`: use this pair only.
//! - `--keep DIR`: write the captures of faulty cases to DIR.
#![allow(
    clippy::cast_possible_truncation,
    reason = "test data: draws from small ranges"
)]
#![allow(clippy::print_stdout, reason = "this is a command")]

mod bases;
mod case;
mod clock;
mod edits;
#[cfg(test)]
mod expected;
mod headers;
mod identity;
mod judge;
mod pair;
mod table;
mod torment;
mod verdict;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rayon::prelude::*;
use tcpexp_testkit::Prng;

use case::{Base, Case};
use torment::Torment;
use verdict::Verdict;

/// Parsed command line.
#[derive(Debug)]
struct Options {
    seeds: std::ops::Range<u64>,
    is_only: bool,
    captures: Vec<PathBuf>,
    records: usize,
    kinds: Vec<u64>,
    pair: Option<String>,
    keep: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(why) => {
            eprintln!("torment: {why}");
            return ExitCode::from(2);
        }
    };
    // A panic is a fault of its case and appears in the case's line.
    std::panic::set_hook(Box::new(|_| ()));
    let mut bases = bases::fixtures(options.records);
    bases.extend(bases::simulated());
    for folder in &options.captures {
        bases.extend(bases::read(folder, options.records));
    }
    if let Some(name) = &options.pair {
        bases.retain(|base| base.pair.name.contains(name.as_str()));
    }
    if bases.is_empty() {
        eprintln!("torment: there is no such pair of captures");
        return ExitCode::from(2);
    }
    let results: Vec<(Case, Verdict)> = options
        .seeds
        .clone()
        .into_par_iter()
        .map(|seed| {
            let case = Case::draw(seed, &bases, &options.kinds);
            let verdict = case.run(&bases);
            (case, verdict)
        })
        .collect();
    for (case, verdict) in &results {
        if options.is_only || !verdict.faults.is_empty() {
            print!("{}", table::case(case, verdict, &bases));
            if let Some(folder) = &options.keep {
                keep(case, &bases, folder);
            }
        }
    }
    print!("{}", table::clean(&bases));
    print!("{}", table::summary(&results, &bases));
    let is_faulty = results
        .iter()
        .any(|(_, verdict)| !verdict.faults.is_empty());
    ExitCode::from(u8::from(is_faulty))
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        seeds: 0..500,
        is_only: false,
        captures: Vec::new(),
        records: usize::MAX,
        kinds: (0..Torment::KINDS).collect(),
        pair: None,
        keep: None,
    };
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or(format!("{name} needs a value"))?;
        let number = || {
            value
                .parse()
                .map_err(|_| format!("{name} is a number, not {value}"))
        };
        match name.as_str() {
            "--runs" => options.seeds.end = options.seeds.start + number()?,
            "--from" => {
                let runs = options.seeds.end - options.seeds.start;
                options.seeds = number()?..number()? + runs;
            }
            "--only" => {
                options.seeds = number()?..number()? + 1;
                options.is_only = true;
            }
            "--records" => options.records = number()? as usize,
            "--captures" => options.captures.push(value.into()),
            "--kinds" => options.kinds = kinds(&value)?,
            "--pair" => options.pair = Some(value),
            "--keep" => options.keep = Some(value.into()),
            _ => return Err(format!("there is no option {name}")),
        }
    }
    Ok(options)
}

/// Returns the kinds of torments with these names.
fn kinds(names: &str) -> Result<Vec<u64>, String> {
    let mut found = Vec::new();
    for wanted in names.split(',') {
        let is_wanted = |kind: &u64| {
            // The names of some kinds depend on the drawn parameters.
            (0..64).any(|seed| {
                Torment::draw(*kind, &mut Prng::new(seed))
                    .name()
                    .contains(wanted)
            })
        };
        let before = found.len();
        found.extend((0..Torment::KINDS).filter(is_wanted));
        if found.len() == before {
            return Err(format!("there is no torment {wanted}"));
        }
    }
    Ok(found)
}

fn keep(case: &Case, bases: &[Base], folder: &Path) {
    let (files, _, _) = case.tormented(bases);
    for (name, file) in ["src", "dst"].into_iter().zip(files) {
        let path = folder.join(format!("{}-{name}.pcap", case.seed));
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, file));
        match written {
            Ok(()) => println!("    kept {}", path.display()),
            Err(error) => eprintln!("torment: cannot write {}: {error}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expected::{EXPECTED, FLIPPED, RECORDS, SEEDS};

    fn bases() -> Vec<Base> {
        let mut bases = bases::fixtures(RECORDS);
        bases.extend(bases::simulated());
        bases
    }

    #[test]
    fn only_listed_results_are_wrong() {
        let bases = bases();
        for base in &bases {
            assert!(base.clean.faults.is_empty(), "{}", table::clean(&bases));
        }
        let kinds: Vec<u64> = (0..Torment::KINDS).collect();
        let mut unexpected = String::new();
        for seed in SEEDS {
            let case = Case::draw(seed, &bases, &kinds);
            let verdict = case.run(&bases);
            let known = EXPECTED.iter().find(|(known, _)| *known == seed);
            let known = known.map_or(&[][..], |(_, faults)| faults);
            if verdict.faults.keys().any(|fault| !known.contains(fault)) {
                unexpected += &table::case(&case, &verdict, &bases);
            }
            for fault in known
                .iter()
                .filter(|fault| !verdict.faults.contains_key(fault))
            {
                println!("mended: take {fault:?} of case {seed} off the list");
            }
        }
        assert!(
            unexpected.is_empty(),
            "{unexpected}\nRun one with: cargo run -p tcpexp-benches --bin torment -- \
             --records {RECORDS} --only SEED --keep DIR"
        );
    }

    #[test]
    fn packets_with_flipped_bits_are_not_lost() {
        let bases = bases();
        let kinds = kinds("damaged packets").unwrap();
        for seed in FLIPPED {
            let case = Case::draw(seed, &bases, &kinds);
            let verdict = case.run(&bases);
            assert!(
                verdict.faults.is_empty(),
                "{}",
                table::case(&case, &verdict, &bases)
            );
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_files() {
        let bases = vec![Base::new(bases::simulated().swap_remove(4).pair)];
        let kinds: Vec<u64> = (0..Torment::KINDS).collect();
        for seed in 0..8 {
            let files = || Case::draw(seed, &bases, &kinds).tormented(&bases).0;
            assert!(files() == files(), "case {seed}");
        }
    }
}
