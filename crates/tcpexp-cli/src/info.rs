//! `tcpexp info CAPTURE…`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueEnum;
use serde::Serialize;
use tcpexp::{CaptureInfo, CaptureSet, SetBack};
use tcpexp_capture::Interface;
use tcpexp_pair::spp::TickMeter;
use tcpexp_units::{TimeDelta, Timestamp, counted};
use tcpexp_wire::LinkType;

use crate::failure;
use crate::output;
use crate::progress::Progress;
use crate::shared_args::ReadArgs;
use crate::shown;

/// Describe captures: format, time span, packets, drops, skipped records, clock
///
/// Each record of a capture is either used or counted under the reason why it was skipped.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp info capture.pcapng\n\
\x20 tcpexp info *.pcap --format json")]
pub(crate) struct InfoArgs {
    /// Captures: files, directories of files, or patterns such as 'src*.pcap'; `-` is standard input
    #[arg(required = true)]
    pub(crate) captures: Vec<PathBuf>,

    /// Output format
    #[arg(long, default_value = "table")]
    pub(crate) format: InfoFormat,

    /// Print no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InfoFormat {
    /// Text
    Table,
    /// One JSON object per capture
    Json,
}

pub(crate) fn run(args: &InfoArgs) -> anyhow::Result<()> {
    let mut is_first = true;
    let mut failed = None;
    for path in &args.captures {
        match describe(path, args) {
            Ok(text) => {
                if args.format == InfoFormat::Table && !is_first {
                    output::print("\n")?;
                }
                output::print(&text)?;
                is_first = false;
            }
            // An error in one file does not stop the others.
            Err(error) => {
                // `main` reports the error that is returned, so only earlier errors are printed
                // here.
                if let Some(earlier) = failed.replace(error) {
                    failure::report(&earlier);
                }
            }
        }
    }
    failed.map_or(Ok(()), Err)
}

fn describe(path: &Path, args: &InfoArgs) -> anyhow::Result<String> {
    let recording = args.reading.open(path)?;
    let progress = Progress::watch(&[&recording], 1, args.quiet);
    let info = CaptureInfo::read(&recording, &args.reading.capture_options())?;
    drop(progress);
    Ok(match args.format {
        InfoFormat::Table => table(recording.name(), &info),
        InfoFormat::Json => {
            let line = serde_json::to_string(&Line::of(recording.name(), &info));
            line.context("cannot write JSON")? + "\n"
        }
    })
}

fn table(path: &Path, info: &CaptureInfo) -> String {
    let mut text = format!("{}\n", shown::path(path));
    let mut line = |name: &str, what: &str| {
        for (number, what) in wrapped(what).iter().enumerate() {
            let name = if number == 0 { name } else { "" };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {name:12} {what}");
        }
    };
    let format = match info.compression {
        Some(compression) => format!("{}, {compression}", info.format),
        None => info.format.to_string(),
    };
    line("format", &format);
    if let Some(set) = &info.set {
        line("set", &files_text(set));
        for remark in set.remarks() {
            line("", &shown::line(&remark));
        }
    }
    for interface in &info.interfaces {
        line("interface", &interface_text(interface));
    }
    if let Some((first, last)) = info.span {
        line("first", &utc(first));
        line("last", &format!("{} ({} later)", utc(last), last - first));
    }
    line("records", &info.tally.records().to_string());
    line("used", &counted(info.tally.used(), "IP packet"));
    for (reason, count) in info.tally.skipped() {
        line("skipped", &reason.counted(count));
    }
    line(
        "bytes",
        &format!(
            "{} captured of {} on the wire",
            info.captured_bytes, info.wire_bytes
        ),
    );
    // The first record after a clock was set back is out of order too.
    let moved = info.moved_records - u64::from(info.set_back.is_some()).min(info.moved_records);
    if moved > 0 {
        let moved = counted(moved, "record") + " out of order in time";
        line("order", &moved);
    }
    if let Some(SetBack {
        record,
        by,
        in_blocks,
    }) = info.set_back
    {
        let by_s = by.as_seconds_f64();
        match in_blocks {
            Some(true) => line(
                "order",
                &format!(
                    "records in blocks by interface, record {record} {by_s:.3} s earlier than the latest before it, not sorted"
                ),
            ),
            Some(false) => line(
                "clock",
                &format!("set back by at least {by_s:.3} s at record {record}"),
            ),
            None => line(
                "clock",
                &format!(
                    "set back, or records in blocks by interface: record {record} {by_s:.3} s earlier than the latest before it"
                ),
            ),
        }
    }
    if let Some(tick) = info.coarse_tick {
        let tick = TickMeter::text(tick);
        line("clock", &format!("advances in steps of {tick}"));
    }
    match info.records_per_packet {
        0 | 1 => {}
        2 => line("duplicates", "nearly each packet was captured twice"),
        records => line(
            "duplicates",
            &format!("nearly each packet was captured {records} times"),
        ),
    }
    if info.tally.cut_options() > 0 {
        let packets = counted(info.tally.cut_options(), "packet");
        line("cut", &format!("TCP options of {packets}"));
    }
    if info.tally.impossible_lengths() > 0 {
        let packets = counted(info.tally.impossible_lengths(), "packet");
        line("lengths", &format!("impossible for {packets}"));
    }
    if let Some(damage) = &info.damage {
        line("damage", damage);
        if info.damaged_places > 1 {
            line(
                "",
                &("and ".to_owned() + &counted(info.damaged_places - 1, "more place")),
            );
        }
    }
    text
}

/// Number of columns of a value: a terminal of 80 without the names of the values.
const VALUE_COLUMNS: usize = 65;

/// The lines of a value. A word that is longer than a line is not divided.
fn wrapped(what: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in what.split(' ') {
        let line = lines.last_mut().expect("one was there from the start");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= VALUE_COLUMNS {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

fn files_text(set: &CaptureSet) -> String {
    let files = counted(set.files.len(), "file");
    if set.ignored == 0 {
        return files;
    }
    format!("{files}; {} without records", counted(set.ignored, "other"))
}

fn interface_text(interface: &Interface) -> String {
    let mut text = LinkType(interface.link_type).to_string();
    if let Some(name) = &interface.name {
        text = format!("{}, {text}", shown::line(name));
    }
    if let Some(snaplen) = interface.snaplen {
        let _ = write!(text, ", up to {snaplen} bytes of a packet");
    }
    if let Some(dropped) = interface.dropped {
        let _ = write!(text, ", {dropped} dropped by the capture");
    }
    text
}

/// Output of `--format json` for one capture.
#[derive(Serialize)]
struct Line {
    path: String,
    format: String,
    compression: Option<String>,
    interfaces: Vec<InterfaceLine>,
    first_ns: Option<i64>,
    last_ns: Option<i64>,
    records: u64,
    used: u64,
    skipped: std::collections::BTreeMap<String, u64>,
    captured_bytes: u64,
    wire_bytes: u64,
    damage: Option<String>,
    damaged_places: u64,
    moved_records: u64,
    set_back: Option<SetBackLine>,
    clock_tick_ns: Option<i64>,
    records_per_packet: u32,
    cut_options_packets: u64,
    impossible_length_packets: u64,
    /// The files of a set, in the order in which they are read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    /// Files that are missing or that were merged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<String>,
}

#[derive(Serialize)]
struct InterfaceLine {
    name: Option<String>,
    link_type: u16,
    snaplen_bytes: Option<u32>,
    received_packets: Option<u64>,
    dropped_packets: Option<u64>,
}

#[derive(Serialize)]
struct SetBackLine {
    record: u64,
    by_ns: i64,
    /// True if no clock was set: the file has the records of its interfaces in blocks. Null if it is unknown which
    /// of the two happened.
    in_blocks: Option<bool>,
}

impl Line {
    fn of(path: &Path, info: &CaptureInfo) -> Self {
        let interfaces = info.interfaces.iter().map(|interface| InterfaceLine {
            name: interface.name.clone(),
            link_type: interface.link_type,
            snaplen_bytes: interface.snaplen,
            received_packets: interface.received,
            dropped_packets: interface.dropped,
        });
        let set = |list: fn(&CaptureSet) -> Vec<String>| {
            info.set.as_deref().map(list).unwrap_or_default()
        };
        Self {
            path: path.display().to_string(),
            format: info.format.to_string(),
            compression: info.compression.map(|compression| compression.to_string()),
            interfaces: interfaces.collect(),
            first_ns: info.span.map(|(first, _)| first.as_nanos()),
            last_ns: info.span.map(|(_, last)| last.as_nanos()),
            records: info.tally.records(),
            used: info.tally.used(),
            skipped: info
                .tally
                .skipped()
                .map(|(reason, n)| (reason.to_string(), n))
                .collect(),
            captured_bytes: info.captured_bytes,
            wire_bytes: info.wire_bytes,
            damage: info.damage.clone(),
            damaged_places: info.damaged_places,
            moved_records: info.moved_records,
            set_back: info.set_back.map(|set_back| SetBackLine {
                record: set_back.record,
                by_ns: set_back.by.as_nanos(),
                in_blocks: set_back.in_blocks,
            }),
            clock_tick_ns: info.coarse_tick.map(TimeDelta::as_nanos),
            records_per_packet: info.records_per_packet,
            cut_options_packets: info.tally.cut_options(),
            impossible_length_packets: info.tally.impossible_lengths(),
            files: set(|set| {
                let files = set.files.iter();
                files.map(|file| file.path.display().to_string()).collect()
            }),
            remarks: set(CaptureSet::remarks),
        }
    }
}

/// Formats a point in time for people: `2026-01-01 00:00:12.345678901 UTC`.
fn utc(at: Timestamp) -> String {
    at.rfc3339().replace('T', " ").replace('Z', " UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_continue_on_the_next_line() {
        let long = format!("{} {}", ["word"; 13].join(" "), "w".repeat(70));
        let lines = wrapped(&long);
        assert_eq!(
            lines,
            [["word"; 13].join(" ").as_str(), "w".repeat(70).as_str()]
        );
        assert_eq!(wrapped(&["word"; 14].join(" ")).len(), 2);
        assert_eq!(wrapped("short"), ["short"]);
    }

    #[test]
    fn times_are_dates_and_times() {
        let shown = utc(Timestamp::from_nanos(1_767_225_612_799_459_000));
        assert_eq!(shown, "2026-01-01 00:00:12.799459000 UTC");
    }
}
