//! How QEMU is called.

use std::ffi::OsString;
use std::path::Path;

/// A virtual machine.
pub(crate) struct Machine<'a> {
    pub(crate) kernel: &'a Path,
    pub(crate) root: &'a Path,
    /// Gets one line on how it ended.
    pub(crate) verdict: &'a Path,
    pub(crate) out: Option<&'a Path>,
    pub(crate) memory_mib: u32,
    pub(crate) seed: u64,
    pub(crate) console: Console,
}

/// Where the guest's serial lines lead.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Console {
    /// The first to standard error, the second to standard output.
    Streams,
    /// The first to the terminal.
    Terminal,
}

/// The kernel's command line. No work that has no use in a guest that lives for minutes: no
/// mitigations, no zeroing of memory, no self-tests of ciphers. Ends when the kernel panics.
const KERNEL_OPTIONS: &str = "console=ttyS0 quiet panic=-1 mitigations=off nokaslr \
                              random.trust_cpu=on init_on_alloc=0 cryptomgr.notests";

impl Machine<'_> {
    /// The arguments.
    ///
    /// The guest's clock counts its instructions, one a nanosecond, and jumps when it has nothing
    /// to do (`-icount shift=0,sleep=off`); it begins at the same date each time. Serial lines
    /// are written as files are, so that the guest waits when nobody reads, and its clock with it.
    /// On a terminal somebody types in real time, so there the clock does not jump.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        let mut add = |words: &str| arguments.extend(words.split_whitespace().map(OsString::from));
        add("-nodefaults -no-user-config -display none -no-reboot");
        add("-machine q35,accel=tcg -cpu max -smp 1");
        add(&format!("-m {} -seed {}", self.memory_mib, self.seed));
        add("-rtc base=2026-01-01T00:00:00,clock=vm");
        match self.console {
            Console::Streams => {
                add("-icount shift=0,sleep=off");
                add("-chardev file,id=console,path=/dev/stderr");
                add("-chardev file,id=output,path=/dev/stdout");
            }
            Console::Terminal => {
                add("-icount shift=0,sleep=on");
                add("-chardev stdio,id=console,signal=off");
                add("-chardev null,id=output");
            }
        }
        let mut pair = |name: &str, value: OsString| arguments.extend([name.into(), value]);
        pair("-chardev", with_path("file,id=verdict,path=", self.verdict));
        for line in ["console", "output", "verdict"] {
            pair("-serial", format!("chardev:{line}").into());
        }
        pair("-kernel", self.kernel.into());
        pair("-initrd", self.root.into());
        pair("-append", KERNEL_OPTIONS.into());
        if let Some(out) = self.out {
            let share = "local,mount_tag=out,security_model=none,multidevs=remap,path=";
            pair("-virtfs", with_path(share, out));
        }
        arguments
    }
}

/// A comma in a path would begin the next option, and two of them stand for one.
fn with_path(options: &str, path: &Path) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut bytes = options.as_bytes().to_vec();
    for byte in path.as_os_str().as_bytes() {
        bytes.extend(if *byte == b',' {
            &b",,"[..]
        } else {
            std::slice::from_ref(byte)
        });
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(console: Console, out: Option<&Path>) -> String {
        let machine = Machine {
            kernel: Path::new("kernel"),
            root: Path::new("root.cpio"),
            verdict: Path::new("verdict"),
            out,
            memory_mib: 1536,
            seed: 7,
            console,
        };
        let words: Vec<String> = machine
            .arguments()
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        words.join(" ").replace(" -", "\n-")
    }

    #[test]
    fn guest_runs_in_virtual_time() {
        insta::assert_snapshot!(called(Console::Streams, Some(Path::new("/a,b"))), @r"
        -nodefaults
        -no-user-config
        -display none
        -no-reboot
        -machine q35,accel=tcg
        -cpu max
        -smp 1
        -m 1536
        -seed 7
        -rtc base=2026-01-01T00:00:00,clock=vm
        -icount shift=0,sleep=off
        -chardev file,id=console,path=/dev/stderr
        -chardev file,id=output,path=/dev/stdout
        -chardev file,id=verdict,path=verdict
        -serial chardev:console
        -serial chardev:output
        -serial chardev:verdict
        -kernel kernel
        -initrd root.cpio
        -append console=ttyS0 quiet panic=-1 mitigations=off nokaslr random.trust_cpu=on init_on_alloc=0 cryptomgr.notests
        -virtfs local,mount_tag=out,security_model=none,multidevs=remap,path=/a,,b
        ");
    }

    #[test]
    fn guest_at_a_terminal_waits_for_who_types() {
        let text = called(Console::Terminal, None);
        assert!(text.contains("-icount shift=0,sleep=on"), "{text}");
        assert!(!text.contains("virtfs"), "{text}");
    }
}
