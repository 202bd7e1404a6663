//! The arguments of QEMU.

use std::ffi::OsString;
use std::path::Path;

/// A virtual machine.
pub(crate) struct Machine<'a> {
    pub(crate) kernel: &'a Path,
    /// File for one line on the end of the guest.
    pub(crate) verdict: &'a Path,
    /// Folder for the results of the guest. All machines have one, so that a machine can resume from the
    /// state of another.
    pub(crate) out: &'a Path,
    pub(crate) memory_mib: u32,
    pub(crate) seed: u64,
    pub(crate) begin: Begin<'a>,
}

/// Start mode of a machine.
#[derive(Clone, Copy)]
pub(crate) enum Begin<'a> {
    /// Boots with its orders; the first serial line is the terminal.
    Terminal { root: &'a Path },
    /// Boots with its orders.
    Boot { root: &'a Path },
    /// Boots with its memory in a file, and stops when it is ready for orders.
    BootAndStop { root: &'a Path, memory: &'a Path },
    /// Resumes from a saved state. Maps its memory file, and does not write to it.
    GoOn { memory: &'a Path, orders: &'a Path },
}

/// The kernel's command line. It turns off work without use in a guest that lives for minutes:
/// mitigations, zeroing of memory, self-tests of ciphers. A panic ends the machine.
///
/// QEMU translates a program's code once per address, so programs keep their addresses
/// (`norandmaps`): 100 commands over ssh take half the processor time.
const KERNEL_OPTIONS: &str = "console=ttyS0 quiet panic=-1 mitigations=off nokaslr norandmaps \
                              random.trust_cpu=on init_on_alloc=0 cryptomgr.notests \
                              nolapic_timer";

/// The processor: all that QEMU can translate, except the flags that make kernels and libraries copy and clear memory
/// by `rep movsb`, and the fifth level of page tables. QEMU copies byte by byte, and reads page tables level by level:
/// without `erms` and `fsrm` a run takes 18 % less processor time, and without `la57` some 5 % less.
const CPU: &str = "max,-erms,-fsrm,-la57";

impl Machine<'_> {
    /// Returns QEMU's arguments.
    ///
    /// The guest's clock counts instructions, one per nanosecond, and jumps when the guest is idle
    /// (`-icount shift=0,sleep=off`). It starts at the same date each time. Writes to serial lines block,
    /// so the guest and its clock wait for a slow reader. On a terminal the clock does not jump, because
    /// the user types in real time.
    ///
    /// Two threads advance the clock: one adds executed instructions at a halt, the other makes the
    /// jump. On a busy machine the jump may come first and be some instructions too long. QEMU
    /// prevents this with a lock that it takes only while recording (`rr=record`), so guests
    /// record, to no file. A machine that is to be saved does not record, because saving takes no
    /// lock and would fail.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        let mut add = |words: &str| arguments.extend(words.split_whitespace().map(OsString::from));
        // A panic reboots the guest at once (`panic=-1`), and with `-no-reboot` a reboot ends QEMU.
        add("-nodefaults -no-user-config -display none -no-reboot");
        // KVM would bring a hardware clock, which runs in real time.
        let memory = match self.begin {
            Begin::Terminal { .. } | Begin::Boot { .. } => "",
            Begin::BootAndStop { .. } | Begin::GoOn { .. } => ",memory-backend=memory",
        };
        add(&format!("-machine q35,accel=tcg{memory} -cpu {CPU} -smp 1"));
        // A guest ready for orders writes to the panic device, and QEMU stops it there.
        add("-device pvpanic -action panic=pause");
        add(&format!("-m {} -seed {}", self.memory_mib, self.seed));
        add("-rtc base=2026-01-01T00:00:00,clock=vm");
        if let Begin::Terminal { .. } = self.begin {
            add("-icount shift=0,sleep=on");
            add("-chardev stdio,id=console,signal=off");
            add("-chardev null,id=output");
        } else {
            match self.begin {
                Begin::BootAndStop { .. } => add("-icount shift=0,sleep=off"),
                _ => add("-icount shift=0,sleep=off,rr=record,rrfile=/dev/null"),
            }
            add("-chardev file,id=console,path=/dev/stderr");
            add("-chardev file,id=output,path=/dev/stdout");
        }
        if let Begin::BootAndStop { .. } | Begin::GoOn { .. } = self.begin {
            // Standard input is our monitor connection.
            add("-chardev socket,id=monitor,fd=0 -mon chardev=monitor,mode=control");
        }
        let mut pair = |name: &str, value: OsString| arguments.extend([name.into(), value]);
        pair("-chardev", with_path("file,id=verdict,path=", self.verdict));
        for line in ["console", "output", "verdict"] {
            pair("-serial", format!("chardev:{line}").into());
        }
        // A shared folder may contain several file systems, whose inode numbers clash without
        // `remap`.
        let share = "local,mount_tag=out,security_model=none,multidevs=remap,path=";
        pair("-virtfs", with_path(share, self.out));
        pair("-kernel", self.kernel.into());
        pair("-append", KERNEL_OPTIONS.into());
        // A saved memory is mapped and not read: a guest gets the pages that it uses, and copies those that it
        // writes.
        let memory = |shared: &str, path| {
            let options = format!(
                "memory-backend-file,id=memory,size={}M,share={shared},mem-path=",
                self.memory_mib
            );
            with_path(&options, path)
        };
        match self.begin {
            Begin::Terminal { root } | Begin::Boot { root } => pair("-initrd", root.into()),
            Begin::BootAndStop { root, memory: path } => {
                pair("-object", memory("on", path));
                pair("-initrd", root.into());
            }
            Begin::GoOn {
                memory: path,
                orders,
            } => {
                pair("-object", memory("off", path));
                // A monitor command names the file later.
                pair("-incoming", "defer".into());
                pair("-fw_cfg", with_path("name=opt/tcpexp/orders,file=", orders));
            }
        }
        arguments
    }
}

/// Escapes a path: QEMU ends an option at a comma, and reads two commas as one.
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

    fn called(begin: Begin<'_>) -> String {
        let machine = Machine {
            kernel: Path::new("kernel"),
            verdict: Path::new("verdict"),
            out: Path::new("/a,b"),
            memory_mib: 1536,
            seed: 7,
            begin,
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
        insta::assert_snapshot!(called(Begin::Boot { root: Path::new("root.cpio") }), @r"
        -nodefaults
        -no-user-config
        -display none
        -no-reboot
        -machine q35,accel=tcg
        -cpu max,-erms,-fsrm,-la57
        -smp 1
        -device pvpanic
        -action panic=pause
        -m 1536
        -seed 7
        -rtc base=2026-01-01T00:00:00,clock=vm
        -icount shift=0,sleep=off,rr=record,rrfile=/dev/null
        -chardev file,id=console,path=/dev/stderr
        -chardev file,id=output,path=/dev/stdout
        -chardev file,id=verdict,path=verdict
        -serial chardev:console
        -serial chardev:output
        -serial chardev:verdict
        -virtfs local,mount_tag=out,security_model=none,multidevs=remap,path=/a,,b
        -kernel kernel
        -append console=ttyS0 quiet panic=-1 mitigations=off nokaslr norandmaps random.trust_cpu=on init_on_alloc=0 cryptomgr.notests nolapic_timer
        -initrd root.cpio
        ");
    }

    #[test]
    fn resumed_guest_has_the_devices_of_the_saved_one() {
        let devices = |text: String| {
            let lines = text.lines().filter(|line| {
                [
                    "-device", "-machine", "-cpu", "-m ", "-icount", "-object", "-serial",
                    "-virtfs", "-rtc",
                ]
                .iter()
                .any(|option| line.starts_with(option))
            });
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let (root, memory, orders) = (
            Path::new("root.cpio"),
            Path::new("a,memory"),
            Path::new("orders"),
        );
        let stopped = devices(called(Begin::BootAndStop { root, memory }));
        let text = called(Begin::GoOn { memory, orders });
        let [recorded, private] = [
            ",rr=record,rrfile=/dev/null",
            "share=off,mem-path=a,,memory",
        ];
        for option in [recorded, private] {
            assert!(text.contains(option), "{text}");
        }
        let as_saved = text.replace(recorded, "").replace("share=off", "share=on");
        assert_eq!(devices(as_saved), stopped);
    }

    #[test]
    fn interactive_guest_waits_for_input() {
        let text = called(Begin::Terminal {
            root: Path::new("root.cpio"),
        });
        assert!(text.contains("-icount shift=0,sleep=on"), "{text}");
    }
}
