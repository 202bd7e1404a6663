//! Programs of this machine that a guest contains, and programs that run the guest.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::LabError;

/// A program and its Debian package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
    pub(crate) need: Need,
}

/// Purpose of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Every lab.
    Lab,
    /// Some experiments only.
    Experiment,
}

/// Runs on this machine.
pub(crate) const QEMU: Program = lab("qemu-system-x86_64", "qemu-system-x86");
/// Runs on this machine, and writes the module index of a guest.
pub(crate) const DEPMOD: Program = lab("depmod", "kmod");
/// Runs on this machine, and decompresses kernels.
pub(crate) const XZ: Program = lab("xz", "xz-utils");
/// In the guest: many small programs in one.
pub(crate) const BUSYBOX: Program = lab("busybox", "busybox-static");

const fn lab(name: &'static str, package: &'static str) -> Program {
    Program {
        name,
        package,
        need: Need::Lab,
    }
}

/// The programs of a guest, by package.
const COPIED: [(&str, Need, &[&str]); 19] = [
    ("bash", Need::Lab, &["bash"]),
    ("dash", Need::Lab, &["sh"]),
    (
        "coreutils",
        Need::Lab,
        &[
            "base64",
            "basename",
            "chmod",
            "chown",
            "comm",
            "cp",
            "cut",
            "date",
            "dd",
            "df",
            "dirname",
            "du",
            "echo",
            "env",
            "expr",
            "false",
            "head",
            "id",
            "install",
            "join",
            "ln",
            "ls",
            "md5sum",
            "mkfifo",
            "mktemp",
            "nice",
            "nl",
            "nohup",
            "nproc",
            "od",
            "paste",
            "printf",
            "pwd",
            "readlink",
            "realpath",
            "rmdir",
            "seq",
            "sha256sum",
            "sort",
            "split",
            "stat",
            "stdbuf",
            "stty",
            "sync",
            "tac",
            "tail",
            "tee",
            "test",
            "timeout",
            "touch",
            "tr",
            "true",
            "truncate",
            "tty",
            "uniq",
            "wc",
            "whoami",
            "yes",
        ],
    ),
    ("diffutils", Need::Lab, &["cmp", "diff"]),
    ("findutils", Need::Lab, &["find", "xargs"]),
    ("grep", Need::Lab, &["grep"]),
    ("gzip", Need::Lab, &["gzip"]),
    ("hostname", Need::Lab, &["hostname"]),
    ("iproute2", Need::Lab, &["ip", "tc", "ss", "bridge"]),
    ("iputils-ping", Need::Lab, &["ping"]),
    ("kmod", Need::Lab, &["modprobe", "lsmod"]),
    ("mount", Need::Lab, &["mount", "umount"]),
    (
        "openssh-client",
        Need::Lab,
        &["ssh", "ssh-keygen", "scp", "sftp"],
    ),
    ("openssh-server", Need::Lab, &["sshd"]),
    (
        "procps",
        Need::Lab,
        &["kill", "ps", "pgrep", "pkill", "sysctl"],
    ),
    ("sed", Need::Lab, &["sed"]),
    ("tar", Need::Lab, &["tar"]),
    ("tcpdump", Need::Lab, &["tcpdump"]),
    (
        "util-linux",
        Need::Lab,
        &["flock", "nsenter", "setsid", "unshare"],
    ),
];

/// Optional programs of a guest, by package, one program each.
const COPIED_SINGLY: [(&str, Need, &str); 10] = [
    ("ethtool", Need::Lab, "ethtool"),
    ("iperf", Need::Lab, "iperf"),
    ("iperf3", Need::Lab, "iperf3"),
    ("curl", Need::Experiment, "curl"),
    ("netperf", Need::Experiment, "netperf"),
    ("netperf", Need::Experiment, "netserver"),
    ("openssl", Need::Experiment, "openssl"),
    ("rsync", Need::Experiment, "rsync"),
    ("sudo", Need::Experiment, "sudo"),
    ("zstd", Need::Experiment, "zstd"),
];

/// Folders of programs. The user's path is not used: a wrapper in a home folder would not run in the
/// guest.
const FOLDERS: [&str; 6] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

/// All programs of a guest.
pub(crate) fn copied() -> Vec<Program> {
    let several = COPIED.iter().flat_map(|(package, need, names)| {
        names.iter().map(|name| Program {
            name,
            package,
            need: *need,
        })
    });
    let single = COPIED_SINGLY.iter().map(|(package, need, name)| Program {
        name,
        package,
        need: *need,
    });
    several.chain(single).chain([BUSYBOX]).collect()
}

impl Program {
    /// Returns the program's file on this machine, with links resolved.
    pub(crate) fn path(self) -> Option<PathBuf> {
        FOLDERS
            .iter()
            .filter_map(|folder| Path::new(folder).join(self.name).canonicalize().ok())
            .find(|path| path.is_file())
    }
}

/// Finds the programs that are on this machine. A missing program that every lab needs is an error.
pub(crate) fn find(programs: &[Program]) -> Result<Vec<(Program, PathBuf)>, LabError> {
    let mut found = Vec::new();
    // All missing programs are collected, so that the error names all packages at once.
    let mut missing = Vec::new();
    for program in programs {
        match program.path() {
            Some(path) => found.push((*program, path)),
            None if program.need == Need::Lab => missing.push(*program),
            None => {}
        }
    }
    if missing.is_empty() {
        Ok(found)
    } else {
        Err(missing_error(&missing))
    }
}

fn missing_error(missing: &[Program]) -> LabError {
    let packages: BTreeSet<&str> = missing.iter().map(|program| program.package).collect();
    LabError::Missing {
        programs: missing
            .iter()
            .map(|program| program.name.to_owned())
            .collect(),
        packages: packages.into_iter().map(str::to_owned).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_names_missing_programs_and_their_packages() {
        let nowhere = |name, package| lab(name, package);
        let error = find(&[
            nowhere("no-such-a", "tools"),
            nowhere("no-such-b", "tools"),
            nowhere("no-such-c", "more"),
            lab("sh", "dash"),
        ]);
        insta::assert_snapshot!(error.unwrap_err(), @"the lab needs no-such-a, no-such-b, no-such-c: apt-get install --no-install-recommends more tools");
    }

    #[test]
    fn optional_programs_may_be_missing() {
        let netperf = Program {
            name: "no-such",
            package: "none",
            need: Need::Experiment,
        };
        assert_eq!(find(&[netperf]).unwrap(), []);
    }
}
