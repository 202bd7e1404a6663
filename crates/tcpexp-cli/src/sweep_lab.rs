//! Carries out the runs of a sweep in virtual machines, one machine per run.
//!
//! Each run thus begins with the same machine in the same state. Earlier and parallel runs do not
//! affect its results.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use netem_ctl::Local;
use tcpexp_lab::{Guest, Image, Job, KernelSource, Shape, process_of};
use tcpexp_runs::folders::run_dirs;
use tcpexp_runs::record::RunRecord;
use tcpexp_sweep::plan::{Lab, Plan};
use tcpexp_sweep::schedule::Planned;

use crate::{program, shown};

/// Settings that all machines of a sweep share.
pub(crate) struct Testbeds {
    image: Image,
    job: Job,
    /// File name of this program, on the host and in the machines.
    program: String,
    /// The plan, which machines find in `/share`.
    plan: Plan,
}

/// Limit on a machine's real time, to stop machines that hang. The machine's own time limits are in
/// virtual time, which may run many times slower.
const LIMIT: Duration = Duration::from_secs(6 * 3_600);

impl Testbeds {
    /// Creates the testbeds with `kernel` for the runs of `plan`; builds the image if there is none.
    pub(crate) fn new(plan: &Plan, kernel: &KernelSource) -> anyhow::Result<Self> {
        let image = crate::kernel_args::image(kernel)?;
        let mut job = Job::new(Vec::new());
        job.shape = shape(plan.lab)?;
        job.memory_mib = plan.lab.memory_mib.unwrap_or(job.memory_mib);
        let itself = program::itself()?;
        let program = itself.file_name().unwrap_or_default();
        let program = program.to_string_lossy().into_owned();
        job.programs = vec![itself];
        Ok(Self {
            image,
            job,
            program,
            plan: plan.clone(),
        })
    }

    /// The release of the kernel.
    pub(crate) fn release(&self) -> &str {
        &self.image.release
    }

    /// An error if a run in the results `dir` had another kernel: the results would mix two kernels.
    pub(crate) fn refuse_other_kernels(&self, dir: &Path) -> anyhow::Result<()> {
        let Ok(runs) = run_dirs(dir) else {
            return Ok(());
        };
        let ours = &self.image.release;
        for run in runs {
            let Some(record) = RunRecord::read_if_there(&run)? else {
                continue;
            };
            // Records of earlier versions name no kernel.
            if let Some(theirs) = record.kernels.values().find(|theirs| *theirs != ours) {
                bail!(
                    "run {} in {} has the kernel {theirs}, and this machine would run {ours}: \
                     continue with --kernel {theirs}, or begin another directory",
                    record.run,
                    shown::path(dir)
                );
            }
        }
        Ok(())
    }

    /// Carries out one run and writes its results to `out`.
    pub(crate) fn carry_out(&self, planned: &Planned<'_>, out: &Path) -> Result<(), String> {
        let run = planned.name();
        let words = [
            &self.program,
            "sweep",
            "/share/plan.toml",
            "--lab",
            "--quiet",
            "--only",
            &run,
            "-o",
            "/out",
        ];
        let mut job = self.job.clone();
        job.share = Some(self.share(out).map_err(chain)?);
        job.command = words.map(str::to_owned).to_vec();
        job.seed = planned.seed;
        job.out = Some(out.to_owned());
        let mut stderr = Vec::new();
        let guest = Guest::spawn(&self.image, &job).map_err(chain)?;
        match guest.wait(&mut std::io::sink(), &mut stderr, Some(LIMIT)) {
            Ok(0) => Ok(()),
            // The driver shows this message only if the guest leaves no record of the run.
            Ok(code) => Err(last_line(&stderr).unwrap_or_else(|| format!("ended with {code}"))),
            Err(error) => Err(chain(error)),
        }
    }

    /// Creates the folder with the machine's input. It is inside `out`, which is cleared before an
    /// interrupted run is repeated.
    fn share(&self, out: &Path) -> anyhow::Result<PathBuf> {
        let share = out.join(".share");
        fs::create_dir(&share).context("cannot create a directory")?;
        let copy = share.join("plan.toml");
        fs::write(&copy, &self.plan.text).context("cannot write the plan")?;
        self.plan
            .copy_traces(&copy)
            .context("cannot copy the traces of the plan")?;
        Ok(share)
    }
}

/// The hosts of a testbed.
pub(crate) fn shape(lab: Lab) -> anyhow::Result<Shape> {
    let shape = Shape::new(lab.sources.into(), lab.sinks.into())?;
    Ok(shape.with_routers(lab.routers.into())?.with_ipv6(lab.ipv6))
}

/// Returns a runner for a host of the guest that this process runs in. A login over ssh would take as
/// much processor time in the guest as some sixty other programs.
pub(crate) fn enter(host: &str) -> anyhow::Result<Local> {
    Ok(Local::in_namespaces_of(process_of(host)?, host))
}

fn chain(error: impl Into<anyhow::Error>) -> String {
    format!("{:#}", error.into())
}

fn last_line(stderr: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(stderr);
    let line = text.lines().rfind(|line| line.starts_with("tcpexp: "))?;
    Some(line.trim_start_matches("tcpexp: ").to_owned())
}
