//! Saved states of booted machines.
//!
//! A software CPU takes ten seconds to boot. A machine is therefore booted once and saved when it
//! is ready for orders, and all guests resume from the saved state. The guest signals readiness by
//! writing to the panic device, at which QEMU stops the machine between two instructions. The clock
//! stops less exactly: the clock of an idle machine may jump by an amount that depends on real
//! time. Guests are bit-identical only if they resume from the same state, so an existing state is
//! never replaced.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::fs::statvfs;
use rustix::io::Errno;
use serde_json::json;

use tcpexp_host::quote;

use crate::LabError;
use crate::cache::{self, MAKING};
use crate::files::{one_line, unread, unwritten};
use crate::image::Image;
use crate::job::{Job, Orders, write_root};
use crate::monitor::Monitor;
use crate::process::{Place, Process};
use crate::programs::{QEMU, find};
use crate::qemu::{Begin, Machine};

/// QEMU's event for a write of the guest to the panic device.
const READY: &str = "GUEST_PANICKED";

/// Largest number of states of one image. A state has the size of the memory that the guest uses.
const MAX_STATES: usize = 3;

/// Capability of QEMU that leaves the memory out of saved states. QEMU maps it from a file, because reading
/// 300 MB takes two seconds.
const MEMORY_IN_FILE: &str = "x-ignore-shared";

/// The file with the memory of a state.
pub(crate) fn memory(state: &Path) -> PathBuf {
    state.join("memory")
}

/// The file with all else of a state.
fn devices(state: &Path) -> PathBuf {
    state.join("devices")
}

static TURN: Mutex<()> = Mutex::new(());

/// Returns the folder with the saved state of a machine of `image` with the setting of `job`. Boots a machine
/// if there is none.
pub(crate) fn ensure(image: &Image, job: &Job) -> Result<PathBuf, LabError> {
    // Threads that need the same state wait for the first one.
    let _one_at_a_time = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = image.states();
    let state = folder.join(key(job)?);
    if state.exists() {
        // The state counts as in use from now on, so that no other guest removes it as an old
        // state.
        cache::refresh(&state);
        return Ok(state);
    }
    fs::create_dir_all(&folder).map_err(unwritten(&folder))?;
    cache::forget_abandoned(&folder)?;
    let made = tempfile::Builder::new()
        .prefix(MAKING)
        .tempdir_in(&folder)
        .map_err(unwritten(&folder))?;
    save(image, job, made.path())?;
    cache::keep(made, &state)?;
    cache::forget_oldest(&folder, MAX_STATES)?;
    Ok(state)
}

/// A name that depends on everything in the machine.
fn key(job: &Job) -> Result<String, LabError> {
    // Paths are no part of the machine, and the paths in the temporary folder differ in each run.
    let nowhere = Path::new("");
    let machine = machine(nowhere, job, nowhere, nowhere, nowhere, nowhere);
    let mut lines = vec![format!("{machine:?} {:?}", job.setting())];
    let qemu = find(&[QEMU])?.remove(0).1;
    for path in job.programs.iter().chain([&qemu]) {
        let about = fs::metadata(path).map_err(unread(path))?;
        let (bytes, seconds, nanos) = (about.len(), about.mtime(), about.mtime_nsec());
        lines.push(format!("{} {bytes} {seconds}.{nanos}", path.display()));
    }
    let checksum = crc::Crc::<u64>::new(&crc::CRC_64_XZ).checksum(lines.join("\n").as_bytes());
    Ok(format!("{checksum:016x}"))
}

/// Boots a machine and writes its state to an empty folder when it is ready.
fn save(image: &Image, job: &Job, state: &Path) -> Result<(), LabError> {
    let place = Place::new()?;
    let root = place.folder().join("root.cpio");
    write_root(image, job, Orders::Follow, &root)?;
    let verdict = place.folder().join("verdict");
    let memory = memory(state);
    let arguments = machine(&image.kernel, job, &root, &memory, &verdict, place.folder());
    let (mut process, mut monitor) = Process::monitored(place, arguments)?;
    // The machine's output is shown only if it fails.
    let console = process.machine.stderr.take();
    // A thread reads the console, because a full pipe would block the machine.
    let said = thread::spawn(move || {
        let mut said = String::new();
        drop(console.map(|mut console| console.read_to_string(&mut said)));
        said
    });
    let stopped = monitor.greet().and_then(|()| stop(&mut monitor));
    let written = stopped.and_then(|()| write(&mut monitor, &devices(state)));
    // The thread ends when the machine closes its console, so the machine ends first.
    drop(process.machine.kill());
    let said = said.join().unwrap_or_default();
    written.map_err(|error| {
        // When there is no room for the next page of the memory, a signal ends QEMU, and QEMU prints no
        // message.
        if statvfs(state).is_ok_and(|room| room.f_bavail == 0) {
            return unwritten(&memory)(Errno::NOSPC.into());
        }
        let what = one_line(&format!("{said}\n{error}"));
        LabError::Guest { what }
    })
}

/// Returns the arguments for a machine that stops when it is ready. It has a folder for results, so
/// that guests resumed from it have the same devices.
fn machine(
    kernel: &Path,
    job: &Job,
    root: &Path,
    memory: &Path,
    verdict: &Path,
    out: &Path,
) -> Vec<std::ffi::OsString> {
    Machine {
        kernel,
        verdict,
        out,
        memory_mib: job.memory_mib,
        seed: Job::FIRST_SEED,
        begin: Begin::BootAndStop { root, memory },
    }
    .arguments()
}

/// Waits until the machine is ready and stopped at a point where a recording guest can resume.
///
/// A resumed guest records, and QEMU counts all instructions before the state as one step, whose
/// length it stores in a signed integer of 32 bits. QEMU fails if the length is negative, so the
/// machine continues until it is not; each continuation is short.
fn stop(monitor: &mut Monitor) -> io::Result<()> {
    const SIGN: u64 = 1 << 31;
    loop {
        monitor.await_event(READY)?;
        let progress = monitor.execute("query-replay", &json!({}))?;
        let instructions = progress["icount"]
            .as_u64()
            .ok_or_else(|| io::Error::other("it does not report its instruction count"))?;
        if instructions & SIGN == 0 {
            return Ok(());
        }
        monitor.execute("cont", &json!({}))?;
    }
}

fn write(monitor: &mut Monitor, devices: &Path) -> io::Result<()> {
    leave_memory_in_file(monitor)?;
    let shell = format!("exec:cat > {}", quote(&devices.to_string_lossy()));
    // Without a bandwidth limit, as the state goes to a file.
    monitor.execute("migrate-set-parameters", &json!({ "max-bandwidth": 0 }))?;
    monitor.execute("migrate", &json!({ "uri": shell }))?;
    loop {
        let progress = monitor.execute("query-migrate", &json!({}))?;
        match progress["status"].as_str() {
            Some("completed") => return Ok(()),
            Some("failed" | "cancelled") => {
                let why = progress["error-desc"].as_str().unwrap_or("no reason given");
                return Err(io::Error::other(format!(
                    "its state cannot be saved: {why}"
                )));
            }
            _ => thread::sleep(Duration::from_millis(10)),
        }
    }
}

fn leave_memory_in_file(monitor: &mut Monitor) -> io::Result<()> {
    let capability = json!({ "capability": MEMORY_IN_FILE, "state": true });
    let capabilities = json!({ "capabilities": [capability] });
    monitor
        .execute("migrate-set-capabilities", &capabilities)
        .map(drop)
}

/// Loads a state into a machine, and resumes the machine.
pub(crate) fn go_on(monitor: &mut Monitor, state: &Path) -> io::Result<()> {
    monitor.greet()?;
    leave_memory_in_file(monitor)?;
    let shell = format!("exec:cat {}", quote(&devices(state).to_string_lossy()));
    monitor.execute("migrate-incoming", &json!({ "uri": shell }))?;
    while monitor.execute("query-status", &json!({}))?["status"] == "inmigrate" {
        thread::sleep(Duration::from_millis(5));
    }
    monitor.execute("cont", &json!({})).map(drop)
}
