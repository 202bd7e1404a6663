//! Signals that end the command, and the limit of file sizes.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{io, mem, ptr, thread};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};

/// A signal that asks the process to end: SIGINT (Ctrl-C), SIGTERM or SIGHUP.
pub(crate) struct EndSignal(c_int);

/// Calls `act` in a separate thread for each signal that asks the process to end. The process continues unless `act`
/// ends it.
///
/// SIGTERM and SIGHUP stay ignored if the parent process ignores them, as `nohup` does with SIGHUP. SIGINT is always
/// handled: a shell ignores it in the background jobs of a script, but such a script also sends it to stop a sweep,
/// and the hosts of a sweep must be restored.
///
/// A process has one `act`; the second call fails.
pub(crate) fn on_end(mut act: impl FnMut(EndSignal) + Send + 'static) -> io::Result<()> {
    static INSTALLED: AtomicBool = AtomicBool::new(false);
    if INSTALLED.swap(true, Ordering::Relaxed) {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let all = [SIGINT, SIGTERM, SIGHUP];
    let is_handled = |signal: &c_int| *signal == SIGINT || !is_ignored(*signal);
    let mut signals = Signals::new(all.into_iter().filter(is_handled))?;
    let handle = move || signals.forever().for_each(|signal| act(EndSignal(signal)));
    thread::Builder::new()
        .name("signals".into())
        .spawn(handle)?;
    Ok(())
}

impl EndSignal {
    /// Ends the process as this signal does by default, so that the parent process sees which signal it was.
    pub(crate) fn end(self) -> ! {
        // Returns only on failure.
        let _ = low_level::emulate_default_handler(self.0);
        // What shells report for a process that a signal ended.
        std::process::exit(128 + self.0)
    }
}

/// Makes a write beyond the limit of file sizes fail (setrlimit(2), `RLIMIT_FSIZE`), like a write to a full disk. By
/// default the signal SIGXFSZ ends the process, which then leaves files with temporary names.
pub(crate) fn fail_at_limit_of_file_size() {
    // Any handler makes the write fail. If none can be installed, only a write beyond the limit ends the process.
    let _ = flag::register(SIGXFSZ, Arc::default());
}

fn is_ignored(signal: c_int) -> bool {
    #[expect(unsafe_code, reason = "a C function; see SAFETY")]
    // SAFETY: all fields of the structure may be zero. A null pointer instead of a new action changes nothing, and
    // the other pointer is valid for the call.
    let handler = unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        libc::sigaction(signal, ptr::null(), &raw mut action);
        action.sa_sigaction
    };
    handler == libc::SIG_IGN
}
