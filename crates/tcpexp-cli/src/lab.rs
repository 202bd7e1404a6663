//! `tcpexp lab`.

use std::fmt::Write;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;
use indicatif::{DecimalBytes, HumanDuration};
use tcpexp_lab::doctor::{self, Finding};
use tcpexp_lab::{Cache, Guest, Image, Job, MAX_HOSTS, MAX_ROUTERS, Shape};

use crate::failure::EndedInGuest;
use crate::kernel_args::{KernelArgs, users_cache};
use crate::lab_diff::{self, DiffArgs};
use crate::standard_output::StandardOutput;
use crate::{program, shown};

/// Run commands in a virtual testbed, in virtual time
///
/// The testbed consists of sources, a router and sinks, as network namespaces of one Linux guest
/// under QEMU's software CPU. The guest's clock counts instructions and jumps over idle time, so
/// timing does not depend on the machine or its load. Neither root nor KVM is needed. In the guest,
/// `ssh src1`, `ssh rtr` and `ssh dst1` reach the hosts. The sources have the addresses 172.16.10.3
/// and up, behind the router's interface left. The sinks have the addresses 172.16.11.2 and up,
/// behind its interface right.
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
    Cache(CacheArgs),
    Diff(DiffArgs),
}

/// Build the image of the guests
///
/// The image has a kernel and copies of this machine's programs. The kernel package is downloaded and
/// unpacked, never installed. `lab run` builds a missing image; `lab build` also looks for a newer
/// kernel.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp lab build\n\
\x20 tcpexp lab build --kernel 6.12")]
struct BuildArgs {
    #[command(flatten)]
    image: ImageArgs,
}

/// Run a command in a guest
///
/// Prints the output of the command and exits with its exit code.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp lab run -- ssh src1 ping -c 3 172.16.11.2\n\
\x20 tcpexp lab run --sources 2 --share in --out out -- sh /share/experiment.sh\n\
\x20 tcpexp lab run --kernel 6.12 -- uname -r\n\
\x20 tcpexp lab run --kernel linux/arch/x86/boot/bzImage --modules installed -- uname -r")]
struct RunArgs {
    /// Command and arguments; the command runs as root in the guest, outside the hosts
    #[arg(required = true, last = true)]
    command: Vec<String>,

    #[command(flatten)]
    image: ImageArgs,

    #[command(flatten)]
    guest: GuestArgs,

    /// Stop the guest after this time on the clock of this machine
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    limit: u64,

    /// Seed of the guest's random numbers; equal guests with equal seeds behave identically
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Open a shell in a guest
#[derive(clap::Args)]
#[command(after_long_help = "Example:\n\
\x20 tcpexp lab shell --sources 2")]
struct ShellArgs {
    #[command(flatten)]
    image: ImageArgs,

    #[command(flatten)]
    guest: GuestArgs,
}

/// Check which programs the lab needs and which are missing
///
/// Exits with 1 if the lab cannot run.
#[derive(clap::Args)]
#[command(after_long_help = "Example:\n\
\x20 tcpexp lab doctor")]
struct DoctorArgs {
    #[command(flatten)]
    image: ImageArgs,
}

/// List the kernels and images that the lab keeps, or remove them
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp lab cache\n\
\x20 tcpexp lab cache --clear")]
struct CacheArgs {
    /// Remove all kernels and images; the next guest makes them again
    #[arg(long)]
    clear: bool,

    #[command(flatten)]
    place: CachePlace,
}

/// Place of the cache.
#[derive(clap::Args)]
struct CachePlace {
    /// Directory for kernels and images [default: tcpexp/lab in the user's cache directory]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
}

/// Options of the image.
#[derive(clap::Args)]
struct ImageArgs {
    #[command(flatten)]
    place: CachePlace,

    #[command(flatten)]
    kernel: KernelArgs,
}

/// Options of the guest.
#[derive(clap::Args)]
struct GuestArgs {
    /// Number of sources: src1, src2, …
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=i64::from(MAX_HOSTS)))]
    sources: u8,

    /// Number of sinks: dst1, dst2, …
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=i64::from(MAX_HOSTS)))]
    sinks: u8,

    /// Number of routers in a row: rtr1, rtr2, …, each with a source and a sink of cross traffic beside
    /// it: xsrc1 and xdst1, …
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=i64::from(MAX_ROUTERS)))]
    routers: u8,

    /// Give the hosts IPv6 addresses too: `fd00:16:10::3` beside `172.16.10.3`
    #[arg(long)]
    ipv6: bool,

    /// Memory of the guest, which also holds its files
    #[arg(long, value_name = "MIB", default_value_t = Job::USUAL_MEMORY_MIB)]
    memory: u32,

    /// Copy this directory to /share in the guest
    #[arg(long, value_name = "DIR")]
    share: Option<PathBuf>,

    /// Copy /out of the guest to this directory at the end
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs the command; fails with the exit code of the command in the guest.
pub(crate) fn run(args: &LabArgs) -> anyhow::Result<()> {
    match &args.command {
        LabCommand::Build(args) => build(args),
        LabCommand::Run(args) => {
            let mut job = args.guest.job(args.command.clone())?;
            job.seed = args.seed;
            boot(&args.image, &job, Some(Duration::from_secs(args.limit)))
        }
        LabCommand::Doctor(args) => examine(args),
        LabCommand::Cache(args) => list_or_clear(args),
        LabCommand::Diff(args) => lab_diff::run(args),
        // A shell ends when its user leaves it, so it has no time limit.
        LabCommand::Shell(args) => {
            let mut job = args.guest.job(Vec::new())?;
            job.terminal =
                terminal_size::terminal_size().map(|(width, height)| (height.0, width.0));
            boot(&args.image, &job, None)
        }
    }
}

fn build(args: &BuildArgs) -> anyhow::Result<()> {
    let cache = args.image.place.cache()?;
    let image = Image::with_newest_kernel(&cache, &args.image.kernel.source())?;
    let lines = format!(
        "kernel {}\nroot   {}\n",
        shown::path(&image.kernel),
        shown::path(&image.root)
    );
    crate::output::print(&lines)
}

fn examine(args: &DoctorArgs) -> anyhow::Result<()> {
    let findings = doctor::examine(&args.image.place.cache()?, &args.image.kernel.source());
    let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    crate::output::print_last(&(lines.join("\n") + "\n"))?;
    if findings.iter().all(Finding::is_fine) {
        Ok(())
    } else {
        // The findings are the message, so only the exit code is missing.
        Err(EndedInGuest(1).into())
    }
}

fn list_or_clear(args: &CacheArgs) -> anyhow::Result<()> {
    let cache = args.place.cache()?;
    let entries = cache.entries()?;
    let total = DecimalBytes(entries.iter().map(|entry| entry.bytes).sum());
    let folder = shown::path(cache.folder());
    if args.clear {
        cache.clear()?;
        return crate::output::print(&format!("removed {total} from {folder}\n"));
    }
    let mut text = String::new();
    for entry in &entries {
        let name = entry.path.strip_prefix(cache.folder());
        let name = shown::path(name.unwrap_or(&entry.path));
        // A clock that was set back shows a use in the future.
        let age = HumanDuration(entry.used.elapsed().unwrap_or_default());
        let size = DecimalBytes(entry.bytes).to_string();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{size:>9}  {name}, used {age} ago");
    }
    let total = total.to_string();
    let _ = writeln!(text, "{total:>9}  in {folder}");
    crate::output::print(&text)
}

fn boot(args: &ImageArgs, job: &Job, limit: Option<Duration>) -> anyhow::Result<()> {
    let image = Image::ensure(&args.place.cache()?, &args.kernel.source())?;
    let guest = Guest::spawn(&image, job)?;
    let code = guest.wait(&mut StandardOutput, &mut io::stderr(), limit)?;
    if code == 0 {
        Ok(())
    } else {
        Err(EndedInGuest(code).into())
    }
}

impl CachePlace {
    fn cache(&self) -> anyhow::Result<Cache> {
        self.cache
            .as_ref()
            .map_or_else(users_cache, |folder| Ok(Cache::at(folder)))
    }
}

impl GuestArgs {
    fn job(&self, command: Vec<String>) -> anyhow::Result<Job> {
        let mut job = Job::new(command);
        job.shape = Shape::new(self.sources.into(), self.sinks.into())?
            .with_routers(self.routers.into())?
            .with_ipv6(self.ipv6);
        job.memory_mib = self.memory;
        // The guest gets a copy of this program, so that commands in it can call tcpexp.
        job.programs = vec![program::itself()?];
        job.share.clone_from(&self.share);
        job.out.clone_from(&self.out);
        Ok(job)
    }
}
