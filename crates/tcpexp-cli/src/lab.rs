//! `tcpexp lab`.

use std::env;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Subcommand;
use tcpexp_lab::doctor::{self, Finding};
use tcpexp_lab::{Cache, Guest, Image, Job, KernelSource, MOST_HOSTS, Shape};

use crate::shown;

/// The virtual testbed: sources, a router and sinks in a virtual machine that runs in virtual time
///
/// The hosts are network namespaces of one small Linux under QEMU's software CPU, whose clock counts
/// instructions and jumps when there is nothing to do. So timing does not depend on this machine and
/// what else it does, idle time costs nothing, and neither root nor KVM is needed. Each host has an
/// sshd: `ssh src1`, `ssh rtr` and `ssh dst1` work in there. Data networks: sources 172.16.10.3 and
/// up, behind the router's interface left; sinks 172.16.11.2 and up, behind right.
#[derive(clap::Args)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Subcommand)]
enum LabCommand {
    Build(BuildArgs),
    Run(RunArgs),
    Shell(ShellArgs),
    Doctor(DoctorArgs),
}

/// Make the image that guests boot, of the distribution's kernel and this machine's programs
///
/// The kernel package is downloaded and unpacked, never installed. `lab run` makes the image as well
/// when there is none; this one also looks for a newer kernel.
#[derive(clap::Args)]
struct BuildArgs {
    #[command(flatten)]
    image: ImageArgs,
}

/// Run a command in a guest, print what it prints and end as it ends
#[derive(clap::Args)]
struct RunArgs {
    /// The command and its arguments, run as root outside of all namespaces
    #[arg(required = true, last = true)]
    command: Vec<String>,

    #[command(flatten)]
    image: ImageArgs,

    #[command(flatten)]
    guest: GuestArgs,

    /// Stop the guest when it has run so long in real time
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    limit: u64,

    /// What random numbers in the guest are made of: the same guest with the same seed does the same
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Look around in a guest: a shell on this terminal
#[derive(clap::Args)]
struct ShellArgs {
    #[command(flatten)]
    image: ImageArgs,

    #[command(flatten)]
    guest: GuestArgs,
}

/// Say what is there for a lab and what is missing, one line each
///
/// Ends with 1 if something is missing without which there is no lab.
#[derive(clap::Args)]
struct DoctorArgs {
    #[command(flatten)]
    image: ImageArgs,
}

/// The command in the guest failed, and has said why itself.
#[derive(Debug, thiserror::Error)]
#[error("the command in the guest ended with {0}")]
pub(crate) struct Ended(pub(crate) u8);

/// Which image.
#[derive(clap::Args)]
struct ImageArgs {
    /// Keep kernels and images here [default: tcpexp/lab in the user's cache folder]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,

    /// Boot this kernel [default: the one of the package linux-image-amd64]
    #[arg(long, value_name = "FILE", requires = "modules")]
    kernel: Option<PathBuf>,

    /// Its modules: /lib/modules/VERSION
    #[arg(long, value_name = "DIR", requires = "kernel")]
    modules: Option<PathBuf>,
}

/// What is in the lab.
#[derive(clap::Args)]
struct GuestArgs {
    /// Sources: src1, src2, …
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=i64::from(MOST_HOSTS)))]
    sources: u8,

    /// Sinks: dst1, dst2, …
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=i64::from(MOST_HOSTS)))]
    sinks: u8,

    /// Memory of the guest, which has all its files in there
    #[arg(long, value_name = "MIB", default_value_t = 1536)]
    memory: u32,

    /// A folder whose files the guest finds in /share
    #[arg(long, value_name = "DIR")]
    share: Option<PathBuf>,

    /// A folder that gets what the guest has in /out at the end
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs the command; fails as the one in the guest did.
pub(crate) fn run(args: &LabArgs) -> anyhow::Result<()> {
    match &args.command {
        LabCommand::Build(args) => build(args),
        LabCommand::Run(args) => {
            let mut job = args.guest.job(args.command.clone())?;
            job.seed = args.seed;
            boot(&args.image, &job, Some(Duration::from_secs(args.limit)))
        }
        LabCommand::Doctor(args) => examine(args),
        LabCommand::Shell(args) => boot(&args.image, &args.guest.job(Vec::new())?, None),
    }
}

fn build(args: &BuildArgs) -> anyhow::Result<()> {
    let cache = args.image.cache()?;
    let image = match args.image.source() {
        KernelSource::Distribution => Image::with_newest_kernel(&cache)?,
        named @ KernelSource::Files { .. } => Image::ensure(&cache, &named)?,
    };
    let lines = format!(
        "kernel {}\nroot   {}\n",
        shown::path(&image.kernel),
        shown::path(&image.root)
    );
    crate::output::print(&lines)
}

/// The image that guests boot unless something else is said, made if there is none.
pub(crate) fn image() -> anyhow::Result<Image> {
    let args = ImageArgs {
        cache: None,
        kernel: None,
        modules: None,
    };
    Ok(Image::ensure(&args.cache()?, &args.source())?)
}

fn examine(args: &DoctorArgs) -> anyhow::Result<()> {
    let findings = doctor::examine(&args.image.cache()?);
    let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    crate::output::print(&(lines.join("\n") + "\n"))?;
    if findings.iter().all(Finding::is_fine) {
        Ok(())
    } else {
        Err(Ended(1).into())
    }
}

fn boot(args: &ImageArgs, job: &Job, limit: Option<Duration>) -> anyhow::Result<()> {
    let image = Image::ensure(&args.cache()?, &args.source())?;
    let guest = Guest::spawn(&image, job)?;
    let code = guest.wait(&mut io::stdout(), &mut io::stderr(), limit)?;
    if code == 0 {
        Ok(())
    } else {
        Err(Ended(code).into())
    }
}

impl ImageArgs {
    fn cache(&self) -> anyhow::Result<Cache> {
        if let Some(folder) = &self.cache {
            return Ok(Cache::at(folder));
        }
        let users = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let users = users.filter(|folder| folder.is_absolute());
        let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".cache"));
        let users = users
            .or_else(home)
            .context("there is no HOME: name a folder with --cache")?;
        Ok(Cache::at(users.join("tcpexp/lab")))
    }

    fn source(&self) -> KernelSource {
        match (&self.kernel, &self.modules) {
            (Some(image), Some(modules)) => KernelSource::Files {
                image: image.clone(),
                modules: modules.clone(),
            },
            _ => KernelSource::Distribution,
        }
    }
}

impl GuestArgs {
    fn job(&self, command: Vec<String>) -> anyhow::Result<Job> {
        let mut job = Job::new(command);
        job.shape = Shape::new(self.sources.into(), self.sinks.into())?;
        job.memory_mib = self.memory;
        job.programs = vec![env::current_exe().context("cannot find the program itself")?];
        job.share.clone_from(&self.share);
        job.out.clone_from(&self.out);
        Ok(job)
    }
}
