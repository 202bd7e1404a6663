//! The arguments that define the measures of a run.

use tcpexp_metrics::compare::Options;
use tcpexp_metrics::repetition::Bootstrap;
use tcpexp_runs::compare::{CompareOptions, Counts};
use tcpexp_runs::only::Only;
use tcpexp_units::TimeDelta;

use crate::values::{parse_time, parse_time_or_zero};

/// How each run is reduced to one number per quantity.
#[derive(clap::Args)]
pub(crate) struct MeasureArgs {
    /// Use only the cells with these parameter values, such as `cc=cubic,reno,rate_mbps=10`
    #[arg(long, value_name = "NAME=VALUE")]
    only: Option<Only>,

    /// Ignore this time after the start of the traffic of each run (ms, s, min)
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_warmup)]
    pub(crate) warmup: TimeDelta,

    /// Window for shares and rates over time
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_time)]
    window: TimeDelta,

    /// Tolerance for convergence
    ///
    /// Flows have converged when each is within this fraction of its fair share. A rate has followed
    /// a change when it is within this fraction of the capacity.
    #[arg(long, value_name = "PART", default_value_t = 0.1, value_parser = parse_part)]
    delta: f64,

    /// Time for which convergence must last
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_time)]
    hold: TimeDelta,

    /// Bytes that the bottleneck counts against its rate
    #[arg(long, value_name = "WHAT", default_value = "frames")]
    counts: CountsArg,

    /// Seed of the bootstrap
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum CountsArg {
    /// Ethernet frames without preamble, checksum and gap (Linux)
    Frames,
    /// IP packets (FreeBSD dummynet)
    Packets,
}

impl MeasureArgs {
    /// The options of a comparison; `baseline` selects the baseline cells.
    pub(crate) fn options(&self, baseline: Vec<(String, String)>) -> CompareOptions {
        CompareOptions {
            measure: Options {
                warmup: self.warmup,
                window: self.window,
                delta: self.delta,
                hold: self.hold,
            },
            bootstrap: Bootstrap {
                seed: self.seed,
                ..Bootstrap::default()
            },
            only: self.only.clone().unwrap_or_default(),
            baseline,
            counts: match self.counts {
                CountsArg::Frames => Counts::Frames,
                CountsArg::Packets => Counts::Packets,
            },
        }
    }
}

/// Parses a time that may be zero.
pub(crate) fn parse_warmup(text: &str) -> Result<TimeDelta, String> {
    // Zero is the same in all units.
    if text.trim() == "0" {
        return Ok(TimeDelta::ZERO);
    }
    parse_time_or_zero(text)
}

fn parse_part(text: &str) -> Result<f64, String> {
    let part: Option<f64> = text.parse().ok();
    part.filter(|part| *part > 0.0 && *part < 1.0)
        .ok_or_else(|| "expected a fraction between 0 and 1, such as 0.1".to_owned())
}
