//! `tcpexp lab diff`.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tcpexp::{CwndOptions, Direction, FlowId, Recording, SenderRow, SenderSample, TimeDelta, cwnd};
use tcpexp_runs::folders::run_dirs;
use tcpexp_runs::record::{Role, RunRecord, Status};
use tcpexp_runs::varied::settings;
use tcpexp_sweep::plan::Plan;
use tcpexp_sweep::schedule::Planned;
use tcpexp_sweep::{On, Options, sweep};
use tcpexp_units::counted;

use crate::diff_packets::{Difference, Trace, TracedFlow, differences};
use crate::diff_rule::{State, rule};
use crate::kernel_args::source_of;
use crate::output;
use crate::shared_args::wrong_usage;
use crate::shown;
use crate::signals;
use crate::sweep::selected;
use crate::sweep_lab::Testbeds;
use crate::sweep_progress::Progress;
use crate::values::parse_directory;

/// Run a plan on two kernels and compare the packets
///
/// Each run of the plan runs on both kernels with the same seed. For each flow, prints the first
/// packets that differ in payload, flags, acknowledgment, window, SACK blocks or ECN field, or by
/// more than 1 ms in time. Adds the reconstructed state of both senders at that packet, and the rule
/// that differs if the packets show it. Virtual time is deterministic, so two runs on the same
/// kernel do not differ.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp lab diff plan.toml --kernel 6.1 --kernel 6.12\n\
\x20 tcpexp lab diff plan.toml --kernel 6.12 --kernel linux/arch/x86/boot/bzImage -o results")]
pub(crate) struct DiffArgs {
    /// Plan of the sweep (TOML)
    plan: PathBuf,

    /// Kernel to run, given twice: a version in Debian's archive, or a kernel file whose modules are
    /// installed beside it or on this machine
    #[arg(long = "kernel", value_name = "VERSION|FILE", required = true)]
    kernels: Vec<PathBuf>,

    /// Keep the runs of both kernels in this directory, in its subdirectories a and b
    #[arg(short, long, value_name = "DIR", value_parser = parse_directory)]
    output: Option<PathBuf>,

    /// Run only these runs, by name or by the parameters of their cells, as `tcpexp sweep` does
    #[arg(long, value_name = "RUNS")]
    only: Option<String>,

    /// Number of parallel runs
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,

    /// Print errors and the result only
    #[arg(short, long)]
    quiet: bool,
}

pub(crate) fn run(args: &DiffArgs) -> anyhow::Result<()> {
    let [a, b] = args.kernels.as_slice() else {
        return Err(wrong_usage("--kernel must be given twice"));
    };
    let plan = Plan::read(&args.plan)?.in_lab()?;
    let testbeds = [a, b].map(|kernel| Testbeds::new(&plan, &source_of(kernel, None)));
    let [a, b] = testbeds;
    let testbeds = [a?, b?];
    // Without a directory of the user, the runs are removed at the end.
    let temporary = match args.output {
        Some(_) => None,
        None => Some(tempfile::tempdir().context("cannot create a directory")?),
    };
    let left = temporary.as_ref().map(|folder| folder.path().to_owned());
    let place = args
        .output
        .as_ref()
        .or(left.as_ref())
        .cloned()
        .unwrap_or_default();
    signals::on_end(move |signal| {
        // Virtual machines end with this process.
        if let Some(left) = &left {
            drop(std::fs::remove_dir_all(left));
        }
        signal.end();
    })
    .context("cannot install a handler for Ctrl-C")?;
    let folders = ["a", "b"].map(|name| place.join(name));
    for (folder, testbeds) in folders.iter().zip(&testbeds) {
        carry_out(args, &plan, testbeds, folder)?;
    }
    let [a, b] = &testbeds;
    let mut text = format!("a is {}, b is {}\n", a.release(), b.release());
    for run in run_dirs(&folders[0]).context("cannot list the runs")? {
        let name = run.file_name().unwrap_or_default();
        text += "\n";
        text += &compared(&run, &folders[1].join("runs").join(name))?;
    }
    output::print(&text)
}

/// Carries out the runs on one kernel.
fn carry_out(args: &DiffArgs, plan: &Plan, testbeds: &Testbeds, dir: &Path) -> anyhow::Result<()> {
    let progress = Progress::new(args.quiet);
    let only = selected(plan, args.only.as_deref())?;
    let run = |run: &Planned<'_>, out: &Path| testbeds.carry_out(run, out);
    let options = Options {
        dir,
        resume: false,
        repeat_invalid: false,
        only: only.as_deref(),
        task: None,
        on: On::Testbeds {
            jobs: args.jobs,
            carry_out: &run,
        },
        interrupt: &|| false,
        analyze: None,
        on_event: &|event| progress.show(event),
    };
    let summary = sweep(plan, &options)?;
    if summary.failed > 0 {
        bail!(
            "{} failed with kernel {}",
            counted(summary.failed, "run"),
            testbeds.release()
        );
    }
    Ok(())
}

/// The comparison of one run on both kernels, as text.
fn compared(a: &Path, b: &Path) -> anyhow::Result<String> {
    let records = [RunRecord::read(a)?, RunRecord::read(b)?];
    let mut text = format!("{}{}\n", records[0].run, varied(&records[0]));
    for (side, record) in ["a", "b"].into_iter().zip(&records) {
        if record.status != Status::Complete {
            let reason = record.reason.as_deref().unwrap_or("no reason given");
            writeln!(text, "  not compared: {side}: {}", shown::line(reason))?;
            return Ok(text);
        }
    }
    let mut flows = 0;
    let mut lines = Vec::new();
    for capture in &records[0].captures {
        let same = |other: &&_| -> bool {
            let other: &&tcpexp_runs::record::CaptureRecord = other;
            other.host == capture.host
        };
        let Some(other) = records[1].captures.iter().find(same) else {
            continue;
        };
        if capture.role != Role::Source {
            continue;
        }
        let sides = [
            Side::read(&a.join(&capture.file))?,
            Side::read(&b.join(&other.file))?,
        ];
        for (ours, theirs) in sides[0].trace.pairs(&sides[1].trace) {
            flows += 1;
            let found = differences(ours, theirs);
            lines.extend(found.iter().map(|found| {
                let at = (ours.began - sides[0].first()) + found.at();
                (at, described(found, [ours, theirs], &sides))
            }));
        }
        let (ours, theirs) = (sides[0].trace.flows.len(), sides[1].trace.flows.len());
        if ours != theirs {
            writeln!(
                text,
                "  {}: a has {ours} TCP flows, b has {theirs}",
                capture.host
            )?;
        }
    }
    lines.sort_by_key(|(at, _)| *at);
    if lines.is_empty() {
        writeln!(text, "  no difference in {}", counted(flows, "flow"))?;
    }
    for (_, line) in lines {
        text += &line;
    }
    Ok(text)
}

fn varied(record: &RunRecord) -> String {
    let settings = settings(&record.varied, &record.parameters);
    settings
        .iter()
        .fold(String::new(), |text, setting| text + " " + setting)
}

/// The capture of one kernel's run.
struct Side {
    trace: Trace,
    /// States of the senders by flow, with times since the first packet of the flow.
    states: HashMap<(FlowId, Direction), Vec<(TimeDelta, SenderSample)>>,
}

impl Side {
    fn read(capture: &Path) -> anyhow::Result<Self> {
        let recording = Recording::open(capture)?;
        let trace = Trace::read(&recording)?;
        let began: HashMap<_, _> = trace
            .flows
            .iter()
            .map(|flow| (flow.id, flow.began))
            .collect();
        let mut states: HashMap<_, Vec<_>> = HashMap::new();
        cwnd(&recording, None, &CwndOptions::default(), |rows| {
            for row in rows {
                if let SenderRow::Sample(sample) = row.row
                    && let Some(began) = began.get(&sample.flow)
                {
                    let key = (sample.flow, sample.direction);
                    let after = sample.at - *began;
                    states.entry(key).or_default().push((after, sample));
                }
            }
            Ok::<(), tcpexp::Error>(())
        })?;
        Ok(Self { trace, states })
    }

    /// Time of the first packet.
    fn first(&self) -> tcpexp::Timestamp {
        let began = self.trace.flows.iter().map(|flow| flow.began);
        began.min().unwrap_or(tcpexp::Timestamp::from_nanos(0))
    }

    fn state(&self, flow: &TracedFlow, found: &Difference) -> State {
        let direction = flow.data_direction();
        let samples = self.states.get(&(flow.id, direction));
        let sent = &flow.packets[direction.index()];
        State::at(samples.map_or(&[], Vec::as_slice), sent, found.at())
    }
}

/// A difference with the state of both senders, in four lines.
fn described(found: &Difference, flows: [&TracedFlow; 2], sides: &[Side; 2]) -> String {
    let [ours, theirs] = flows;
    let states = [sides[0].state(ours, found), sides[1].state(theirs, found)];
    let by_sender = found.direction == ours.data_direction();
    let ends = match found.direction {
        Direction::Forward => (ours.initiator, ours.responder),
        Direction::Reverse => (ours.responder, ours.initiator),
    };
    let values = [0, 1].map(|side: usize| found.property.of(found.packets[side].as_ref()));
    let mut lines = vec![format!(
        "  {:.6} s of flow {} to {} {}: packet {} {}: {} differs",
        found.at().as_nanos() as f64 / 1e9,
        ours.id.0,
        ends.1,
        found.direction.name(),
        found.number,
        if by_sender {
            "of the sender"
        } else {
            "of the receiver"
        },
        found.property.name(),
    )];
    let sides = ["a", "b"].into_iter().zip(values.iter().zip(&states));
    lines
        .extend(sides.map(|(side, (value, state))| {
            format!("    {side}: {value}; sender: {}", state.text())
        }));
    let rule = rule(found, by_sender, [&states[0], &states[1]]);
    lines.push(format!("    rule: {rule}\n"));
    lines.join("\n")
}
