//! `tcpexp throughput CAPTURE`.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{anyhow, bail};
use clap::builder::{PathBufValueParser, TypedValueParser};
use tcpexp::{Recording, ThroughputOptions, ThroughputReport, throughput};
use tcpexp_measure::throughput::{
    BinWidth, MAX_EMPTY_ROWS, Origin, RowCounts, ThroughputBin, ThroughputRow,
};
use tcpexp_table::{
    BinRow, FLOW_TABLE_WIDTH, FlowLabel, Ordered, TopThroughput, throughput_columns,
};
use tcpexp_units::{TimeDelta, counted};

use crate::failure;
use crate::labels::Labels;
use crate::picture::Picture;
use crate::progress::Progress;
use crate::rate_chart::RateChart;
use crate::report;
use crate::shared_args::{
    OutputArgs, PartArgs, ReadArgs, SelectArgs, order_of, shown_names, wrong_usage,
};
use crate::sheet::Sheet;
use crate::shown;
use crate::values::{parse_origin, parse_rate, parse_time};
use crate::warnings;

/// Number of empty rows (about 1 MB of CSV) of a nearly empty capture after which its rows are
/// counted to the end before more are written.
const COUNTED_FROM: u64 = 10_000;

/// Measure wire rate, throughput and goodput in time bins
///
/// Writes one row per bin, flow and direction, and one row per bin for all flows together. The rows of
/// empty bins contain zeros. The wire rate includes link headers, throughput counts IP packets, and
/// goodput counts payload bytes captured for the first time. A packet counts entirely in the bin of
/// its capture time. Packets more than 50 ms older than the newest bin count in no bin and are
/// reported separately.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp throughput capture.pcap --bin 100ms --rate 10Mbit\n\
\x20 tcpexp throughput capture.pcap --flow 1 -o rates.parquet --plot rates.svg")]
pub(crate) struct ThroughputArgs {
    /// Capture file; `-` is standard input
    capture: PathBuf,

    /// Width of a bin (us, ms, s, min)
    #[arg(long, value_name = "WIDTH", default_value = "1s", value_parser = parse_time)]
    bin: TimeDelta,

    /// Write every empty bin, even if nearly all rows are empty
    #[arg(long)]
    empty_bins: bool,

    /// Start of the first bin: the first packet, or seconds since 1970
    ///
    /// With 0, bins start at multiples of the width, so the bins of several captures coincide.
    #[arg(long, value_name = "first|TIME", default_value = "first", value_parser = parse_origin)]
    origin: Origin,

    /// Rate of the link (bit, kbit, Mbit, Gbit), to compute its utilisation
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    rate: Option<u64>,

    #[command(flatten)]
    select: SelectArgs,

    /// Sort the table by this key and show its first flows; rows in files keep their order
    #[arg(
        long,
        value_name = "KEY",
        default_value = "bytes",
        help_heading = "Selection"
    )]
    #[arg(value_parser = order_of::<TopThroughput>())]
    sort: String,

    #[command(flatten)]
    output: OutputArgs,

    /// Draw the wire rate of each flow and direction, of all flows, and of the link (.svg, .pdf or
    /// .png)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[arg(value_parser = PathBufValueParser::new().try_map(Picture::at))]
    plot: Option<Picture>,

    #[command(flatten)]
    reading: ReadArgs,

    #[command(flatten)]
    part: PartArgs,
}

pub(crate) fn run(args: &ThroughputArgs) -> anyhow::Result<()> {
    let Some(width) = BinWidth::new(args.bin) else {
        return Err(wrong_usage("the width of a bin must be greater than 0"));
    };
    let mut options = ThroughputOptions::new(width)
        .tunnels(args.reading.tunnels())
        .select(args.reading.selection())
        .shard(args.part.shard)
        .origin(args.origin);
    if let Some(rate) = args.rate {
        options = options.link_rate_bps(rate);
    }
    let mut results = Results::create(args)?;
    let recording = args.reading.open(&args.capture)?;
    let progress = Progress::watch(&[&recording], 1, args.output.quiet);
    let report = match results.measure(args, &recording, &options, !args.empty_bins) {
        Err(Stop::NearlyEmpty) => {
            check_rows(&recording, &options)?;
            results = Results::create(args)?;
            results.measure(args, &recording, &options, false)
        }
        outcome => outcome,
    }?;
    drop(progress);
    warnings::of_capture(&report.capture, &args.capture);
    let late = report.totals.late.packets;
    if late > 0 {
        failure::print_line(&format!(
            "warning: {}: {} left out of all bins, because their times are too far from those of the packets before them",
            shown::path(&args.capture),
            counted(late, "packet")
        ));
    }
    // A part may be empty although the whole is not.
    if results.found == 0 && args.part.shard.is_none() {
        bail!(
            "no flow in {} matches {}",
            shown::path(&args.capture),
            shown_names(&args.select.flow)
        );
    }
    let remarks = if args.output.quiet {
        String::new()
    } else {
        remarks(args, &report)
    };
    results.finish(&remarks)
}

/// Why a measurement stopped.
enum Stop {
    /// Nearly all rows so far are of empty bins.
    NearlyEmpty,
    Failed(anyhow::Error),
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<tcpexp::Error> for Stop {
    fn from(error: tcpexp::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Stop> for anyhow::Error {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::NearlyEmpty => anyhow!("nearly all bins are empty"),
            Stop::Failed(error) => error,
        }
    }
}

/// Fails if nearly all rows are of empty bins and there are too many to write.
fn check_rows(recording: &Recording, options: &ThroughputOptions) -> anyhow::Result<()> {
    let mut rows = RowCounts::default();
    throughput(recording, options, |row| {
        rows.add(&row);
        if rows.are_nearly_empty(MAX_EMPTY_ROWS) {
            bail!(
                "more than {MAX_EMPTY_ROWS} rows of empty bins for the first {} with \
                 packets: use a longer --bin, or --empty-bins to write all of them",
                counted(rows.filled, "row")
            );
        }
        Ok(())
    })?;
    Ok(())
}

/// Accumulated results.
struct Results {
    /// Selected flows that have not ended.
    flows: Labels,
    sheet: Sheet<BinRow>,
    chart: Option<RateChart>,
    table: TopThroughput,
    /// Number of selected flows.
    found: u64,
}

impl Results {
    fn create(args: &ThroughputArgs) -> anyhow::Result<Self> {
        let create_chart = |picture| RateChart::create(picture, args.rate);
        Ok(Self {
            flows: Labels::default(),
            sheet: Sheet::create(&args.output, throughput_columns())?,
            chart: args.plot.as_ref().map(create_chart).transpose()?,
            table: TopThroughput::new(args.select.limit, args.rate).sorted_by(&args.sort),
            found: 0,
        })
    }

    /// Measures the capture; if `is_wary`, stops soon if nearly all rows are of empty bins.
    fn measure(
        &mut self,
        args: &ThroughputArgs,
        recording: &Recording,
        options: &ThroughputOptions,
        is_wary: bool,
    ) -> Result<ThroughputReport, Stop> {
        let mut rows = RowCounts::default();
        throughput(recording, options, |row| {
            rows.add(&row);
            if is_wary && rows.are_nearly_empty(COUNTED_FROM) {
                return Err(Stop::NearlyEmpty);
            }
            Ok(self.take(args, &row)?)
        })
    }

    fn take(&mut self, args: &ThroughputArgs, row: &ThroughputRow) -> anyhow::Result<()> {
        match row {
            ThroughputRow::Began(flow) => {
                let (initiator, responder) = (flow.initiator(), flow.responder());
                if args.select.wants(flow.id, initiator, responder) {
                    self.found += 1;
                    self.flows.insert(flow.id, Arc::new(FlowLabel::of(flow)));
                }
            }
            ThroughputRow::Bin(bin) => self.add(*bin)?,
            ThroughputRow::Ended(flow) => {
                let is_wanted = self.flows.remove(&flow.flow.id).is_some();
                self.table.end(flow);
                if let Some(chart) = &mut self.chart {
                    chart.end(flow, is_wanted);
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, bin: ThroughputBin) -> anyhow::Result<()> {
        let flow = match bin.flow {
            None => None,
            Some(flow) => match self.flows.get(&flow) {
                Some(label) => Some(Arc::clone(label)),
                // Only selected flows have a label.
                None => return Ok(()),
            },
        };
        self.table.bin(&bin);
        if let Some(chart) = &mut self.chart {
            chart.add(flow.as_deref(), &bin);
        }
        self.sheet.add([BinRow { flow, bin }])
    }

    fn finish(self, remarks: &str) -> anyhow::Result<()> {
        let chart = self.chart.map(RateChart::draw).transpose()?;
        let text = self.table.into_text(FLOW_TABLE_WIDTH) + remarks;
        self.sheet.finish(&text, chart)
    }
}

/// Returns the remarks under the table.
fn remarks(args: &ThroughputArgs, report: &ThroughputReport) -> String {
    let mut text = "\n".to_owned();
    let from = match args.origin {
        Origin::FirstPacket => "from the first packet".to_owned(),
        Origin::At(_) => "from the given origin".to_owned(),
    };
    let width = report::short(args.bin);
    let what = format!(
        "{width} {from}; peak is the wire rate of the fullest bin, empty the share of bins without packets"
    );
    report::line(&mut text, "bins", &what);
    let late = report.totals.late;
    if late.packets > 0 {
        let what = format!(
            "{} ({} on the wire) behind the newest bins, or more than a day ahead",
            counted(late.packets, "packet"),
            counted(late.wire_bytes, "byte")
        );
        report::line(&mut text, "in no bin", &what);
    }
    let skipped = report::skipped(&report.capture.tally);
    if !skipped.is_empty() {
        report::line(&mut text, "skipped", &skipped);
    }
    text
}
