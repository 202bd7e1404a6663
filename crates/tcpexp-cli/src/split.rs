//! `tcpexp split CAPTURE… --parts N -o DIR`.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use anyhow::Context;
use tcpexp::{FlowShard, Recording, SplitOptions, SplitReport, split};
use tcpexp_flow::MAX_FLOWS;
use tcpexp_store::as_url;
use tcpexp_units::counted;
use tcpexp_wire::Tunnels;

use crate::caller::caller;
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::shared_args::{StoreArgs, wrong_usage};
use crate::values::parse_directory;
use crate::{failure, shown};

/// Cut captures into parts by flows, to divide an analysis
///
/// Part I of N contains the packets of the flows that --shard I/N selects. Part 1 also contains the
/// packets that belong to no flow. `flows`, `rtt` and `cwnd` report the rows of --shard I/N from a part
/// alone, and `why` explains its flows: flows and packets keep the numbers that they have in the whole
/// capture. The files are pcapng with timestamps in nanoseconds, and Wireshark shows the number of each
/// packet as `frame.packet_id`.
///
/// A capture may be a directory or a pattern, as for the other commands. Each capture is read once. Its
/// parts are DIR/NAME.I-of-N.pcapng; files with these names are replaced.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp split src.pcap --parts 4 -o parts\n\
\x20 tcpexp flows parts/src.2-of-4.pcapng -o flows2.csv\n\
\x20 tcpexp split 'rotated/eth0_*.pcap.gz' --parts 16 -o parts")]
pub(crate) struct SplitArgs {
    /// Captures; `-` is standard input
    #[arg(required = true, value_name = "CAPTURE")]
    captures: Vec<PathBuf>,

    /// Number of parts
    #[arg(long = "parts", value_name = "N")]
    count: NonZeroU32,

    /// Directory of the parts; created if it does not exist
    #[arg(short, long, value_name = "DIR", value_parser = parse_directory)]
    output: PathBuf,

    /// Print no progress and no list of parts
    #[arg(short, long)]
    quiet: bool,

    /// Divide the flows inside IP-in-IP, GRE and VXLAN tunnels
    ///
    /// The analysis of a part needs the same option.
    #[arg(long, help_heading = "Reading")]
    inner: bool,

    /// Do not map the capture into memory
    ///
    /// Reading is slower, but safe if another program truncates the file at the same time.
    #[arg(long, help_heading = "Reading")]
    no_mmap: bool,

    /// Keep at most this many flows in memory at once, as in the analysis of the parts
    #[arg(long, value_name = "N", default_value_t = MAX_FLOWS, help_heading = "Reading")]
    max_flows: NonZeroUsize,

    #[command(flatten)]
    stores: StoreArgs,
}

pub(crate) fn run(args: &SplitArgs) -> anyhow::Result<()> {
    let names = names(&args.captures)?;
    let stores = args.stores.storage_option.iter().cloned().collect();
    let mut lines = Vec::new();
    // All inputs are opened before the first output.
    let mut recordings = Vec::new();
    for path in &args.captures {
        let mut recording = Recording::open_with(path, &stores)?.with_max_flows(args.max_flows);
        if let Some(caller) = caller() {
            recording = recording.stopped_by(caller.stop());
        }
        recordings.push(if args.no_mmap {
            recording.streamed()
        } else {
            recording
        });
    }
    let made = make_directory(&args.output)?;
    for (recording, name) in recordings.iter().zip(names) {
        let cut = cut(args, recording, &name);
        if cut.is_err() && made {
            // Fails if an earlier capture has left its parts there.
            drop(std::fs::remove_dir(&args.output));
        }
        let report = cut?;
        warn(recording.name(), &report);
        for part in report.parts {
            let file = part.out;
            lines.push([
                part.shard.to_string(),
                part.flows.to_string(),
                part.records.to_string(),
                shown::path(&file),
            ]);
        }
    }
    if args.quiet {
        return Ok(());
    }
    output::print(&table(&lines))
}

/// Writes the parts of one capture. All of them get their names together, at the end.
fn cut(
    args: &SplitArgs,
    recording: &Recording,
    name: &str,
) -> anyhow::Result<SplitReport<PathBuf>> {
    let options = SplitOptions {
        parts: args.count,
        tunnels: if args.inner {
            Tunnels::Entered
        } else {
            Tunnels::Closed
        },
    };
    let progress = Progress::watch(&[recording], 1, args.quiet);
    let create = |shard: FlowShard| {
        let (number, count) = (shard.number(), shard.count());
        let file = format!("{name}.{number}-of-{count}.pcapng");
        let out = Output::create(Some(&args.output.join(file)))?;
        anyhow::Ok(PartFile(out))
    };
    let mut report = split(recording, options, create)?;
    drop(progress);
    for part in &mut report.parts {
        part.out.flush()?;
    }
    report.try_map(|PartFile(out)| {
        let name = out.name().to_owned();
        out.finish()?;
        Ok(name)
    })
}

/// The file of a part. Its errors name it: of many files, one failed.
struct PartFile(Output);

/// A part that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", path.display())]
struct Unwritten {
    path: PathBuf,
    source: io::Error,
}

impl PartFile {
    fn named(&self, source: io::Error) -> io::Error {
        let path = self.0.name().to_owned();
        io::Error::new(source.kind(), Unwritten { path, source })
    }
}

impl io::Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(|error| self.named(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(|error| self.named(error))
    }
}

/// Creates a directory on disk; returns true if it did not exist.
fn make_directory(path: &Path) -> anyhow::Result<bool> {
    if as_url(path).is_some() || path.is_dir() {
        return Ok(false);
    }
    let made = std::fs::create_dir(path);
    made.with_context(|| format!("cannot create the directory {}", path.display()))?;
    Ok(true)
}

fn warn<W>(name: &Path, report: &SplitReport<W>) {
    let name = name.display();
    if let Some(damage) = &report.damage {
        failure::print_line(&format!("warning: {name}: {damage}"));
    }
    if report.left_out > 0 {
        let records = counted(report.left_out, "record");
        let what = format!("warning: {name}: left out {records} without a usable time");
        failure::print_line(&what);
    }
}

/// The names of the parts of each capture, without their numbers.
fn names(captures: &[PathBuf]) -> anyhow::Result<Vec<String>> {
    let names: Vec<String> = captures.iter().map(|path| stem(path)).collect();
    let mut known = HashSet::new();
    match names.iter().find(|name| !known.insert(*name)) {
        Some(twice) => Err(wrong_usage(&format!(
            "the parts of two captures would have the name {twice}: split them to different directories"
        ))),
        None => Ok(names),
    }
}

/// The name of a capture without the endings of its format and compression.
fn stem(path: &Path) -> String {
    const ENDINGS: [&str; 7] = ["gz", "zst", "lz4", "pcap", "pcapng", "cap", "dmp"];
    let name = path.file_name().unwrap_or(OsStr::new("capture"));
    // A pattern is no name of a file.
    let name = name
        .to_string_lossy()
        .replace(['*', '?', '[', ']', '@'], "");
    let mut name = name.as_str();
    while let Some((before, ending)) = name.rsplit_once('.')
        && ENDINGS.contains(&ending.to_ascii_lowercase().as_str())
    {
        name = before;
    }
    match name.trim_matches(['-', '_', '.']) {
        "" => "capture".to_owned(),
        name => name.to_owned(),
    }
}

/// The list of the parts.
fn table(lines: &[[String; 4]]) -> String {
    let head = ["part", "flows", "records", "file"].map(str::to_owned);
    let rows = || std::iter::once(&head).chain(lines);
    let width = |column: usize| rows().map(|row| row[column].len()).max().unwrap_or(0);
    let [part, flows, records] = [width(0), width(1), width(2)];
    let mut text = String::new();
    for [a, b, c, file] in rows() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{a:>part$}  {b:>flows$}  {c:>records$}  {file}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_the_name_of_their_capture_without_its_endings() {
        for (path, name) in [
            ("a/src.pcap", "src"),
            ("src.pcap.gz", "src"),
            ("10.0.0.1.pcapng.zst", "10.0.0.1"),
            ("captures/", "captures"),
            ("a/eth0_*.pcap", "eth0"),
            ("*.pcap", "capture"),
            ("-", "capture"),
            ("s3://bucket/src.pcap", "src"),
        ] {
            assert_eq!(stem(Path::new(path)), name, "{path}");
        }
    }
}
