//! Machines that have been booted up to the point where they read what they are to do.
//!
//! Booting takes a software CPU ten seconds, so the machine is stopped and saved when it is ready,
//! and each guest goes on from there. The guest itself says when: it writes to the panic device, on
//! which QEMU stops the machine between two instructions. Its clock does not stop so exactly: a
//! stopped machine has nothing to do, so it may jump, and how far is a matter of real time. Guests
//! are the same to the last bit only if they go on from the same state, which is why one that is
//! there is never replaced.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

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

/// What QEMU reports when the guest writes to the panic device.
const READY: &str = "GUEST_PANICKED";

/// States of one image at the most; each has the size of what the guest has in memory.
const MOST_STATES: usize = 3;

static TURN: Mutex<()> = Mutex::new(());

/// The saved state of a machine of `image` with the setting of `job`; made if there is none.
pub(crate) fn ensure(image: &Image, job: &Job) -> Result<PathBuf, LabError> {
    // Who needs the same at the same time waits for the first rather than making it again.
    let _one_at_a_time = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = image.states();
    let state = folder.join(key(job)?);
    if state.exists() {
        cache::refresh(&state);
        return Ok(state);
    }
    fs::create_dir_all(&folder).map_err(unwritten(&folder))?;
    cache::forget_abandoned(&folder)?;
    let made = tempfile::Builder::new()
        .prefix(MAKING)
        .tempfile_in(&folder)
        .map_err(unwritten(&folder))?;
    save(image, job, made.path())?;
    match made.persist_noclobber(&state) {
        Ok(_) => {}
        // Another process needed the same and was faster.
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => {
            return Err(LabError::Write {
                path: state,
                source: error.error,
            });
        }
    }
    cache::forget_oldest(&folder, MOST_STATES)?;
    Ok(state)
}

/// A name that is another one as soon as anything in the machine is another.
fn key(job: &Job) -> Result<String, LabError> {
    let nowhere = Path::new("");
    let machine = machine(nowhere, job, nowhere, nowhere, nowhere);
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

/// Boots a machine and writes its state to a file when it is ready.
fn save(image: &Image, job: &Job, state: &Path) -> Result<(), LabError> {
    let place = Place::new()?;
    let root = place.folder().join("root.cpio");
    write_root(image, job, Orders::Follow, &root)?;
    let verdict = place.folder().join("verdict");
    let arguments = machine(&image.kernel, job, &root, &verdict, place.folder());
    let (mut process, mut monitor) = Process::monitored(place, arguments)?;
    // What it says is of interest only if it fails.
    let console = process.machine.stderr.take();
    let said = thread::spawn(move || {
        let mut said = String::new();
        drop(console.map(|mut console| console.read_to_string(&mut said)));
        said
    });
    let stopped = monitor.greet().and_then(|()| stop(&mut monitor));
    let written = stopped.and_then(|()| write(&mut monitor, state));
    drop(process.machine.kill());
    let said = said.join().unwrap_or_default();
    written.map_err(|error| LabError::Guest {
        what: one_line(&format!("{said}\n{error}")),
    })
}

/// The arguments for a machine that stops when it is ready. It has a folder for results, so that a
/// guest with another one goes on with the same devices.
fn machine(
    kernel: &Path,
    job: &Job,
    root: &Path,
    verdict: &Path,
    out: &Path,
) -> Vec<std::ffi::OsString> {
    Machine {
        kernel,
        verdict,
        out,
        memory_mib: job.memory_mib,
        seed: Job::FIRST_SEED,
        begin: Begin::BootAndStop { root },
    }
    .arguments()
}

/// Waits until the machine is ready and has stopped where one that records can go on.
///
/// A guest records, and QEMU then takes all instructions up to the state for one step, whose length
/// it keeps in 32 bits with a sign: where that is less than nothing it fails. So the machine is sent
/// on for as long; it stops again soon.
fn stop(monitor: &mut Monitor) -> io::Result<()> {
    const SIGN: u64 = 1 << 31;
    loop {
        monitor.await_event(READY)?;
        let progress = monitor.execute("query-replay", &json!({}))?;
        let instructions = progress["icount"].as_u64().ok_or_else(|| {
            io::Error::other("it does not tell how many instructions it has done")
        })?;
        if instructions & SIGN == 0 {
            return Ok(());
        }
        monitor.execute("cont", &json!({}))?;
    }
}

fn write(monitor: &mut Monitor, state: &Path) -> io::Result<()> {
    let shell = format!("exec:cat > {}", quote(&state.to_string_lossy()));
    // Without a limit: it is to be written and not to be moved while it runs.
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

/// Lets a machine go on whose state has been read.
pub(crate) fn go_on(monitor: &mut Monitor) -> io::Result<()> {
    monitor.greet()?;
    while monitor.execute("query-status", &json!({}))?["status"] == "inmigrate" {
        thread::sleep(Duration::from_millis(5));
    }
    monitor.execute("cont", &json!({})).map(drop)
}
