//! Kernel packages from apt: listed, downloaded and unpacked, never installed.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::LabError;
use crate::files::{failed, run, unread, unwritten};
use crate::version::{self, IMAGE, KernelVersion, Package};

/// The package that always depends on the newest kernel package.
const NEWEST: &str = "linux-image-amd64";

/// Debian's archive and the suites with kernels, under the names that stay when a suite is released.
const SUITES: [(&str, &str); 9] = [
    ("debian", "oldstable"),
    ("debian-security", "oldstable-security"),
    ("debian", "oldstable-backports"),
    ("debian", "stable"),
    ("debian-security", "stable-security"),
    ("debian", "stable-backports"),
    ("debian", "testing"),
    ("debian", "unstable"),
    ("debian", "experimental"),
];

/// The keys that sign Debian's archive, of the package of the same name.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The parts of a kernel package that a lab needs: modules for networks and virtual devices. All
/// modules would be ten times as large.
const MODULES: [&str; 12] = [
    "modules.*",
    "vmlinuz",
    "kernel/arch/*",
    "kernel/crypto/*",
    "kernel/drivers/firmware/qemu_fw_cfg.ko*",
    "kernel/drivers/net/*.ko*",
    "kernel/drivers/virtio/*",
    "kernel/fs/9p/*",
    "kernel/fs/fscache/*",
    "kernel/fs/netfs/*",
    "kernel/lib/*",
    "kernel/net/*",
];

/// Packages that together make a kernel, since Debian's kernel 6.19: beginnings of their names.
const PARTS: [&str; 3] = ["linux-base-", "linux-binary-", "linux-modules-"];

/// A set of package sources.
pub(crate) struct Apt {
    /// Options of all commands.
    options: Vec<OsString>,
}

impl Apt {
    /// The sources of this machine.
    pub(crate) fn of_this_machine() -> Self {
        Self {
            options: Vec::new(),
        }
    }

    /// All suites of Debian's archive. Their package lists are written below `folder`.
    ///
    /// apt trusts a list if its suite's signature is by a key of Debian's keyring, and a package if the
    /// list has its hash.
    pub(crate) fn of_debian(folder: &Path) -> Result<Self, LabError> {
        has_keys()?;
        let sources = folder.join("sources.list");
        let line = |(archive, suite)| {
            format!("deb [signed-by={KEYRING}] http://deb.debian.org/{archive} {suite} main\n")
        };
        let lines: String = SUITES.into_iter().map(line).collect();
        fs::write(&sources, lines).map_err(unwritten(&sources))?;
        let state = folder.join("lists");
        fs::create_dir_all(&state).map_err(unwritten(&state))?;
        let mut options = Vec::new();
        let mut option = |name: &str, value: &Path| {
            let mut word = OsString::from(format!("{name}="));
            word.push(value);
            options.extend([OsString::from("-o"), word]);
        };
        option("Dir::Etc::sourcelist", &sources);
        option("Dir::State::lists", &state);
        option("Dir::Cache", &folder.join("cache"));
        for (name, value) in [
            ("Dir::Etc::sourceparts", "-"),
            // A release that this machine prefers may not be among the suites.
            ("APT::Default-Release", ""),
            ("APT::Architecture", "amd64"),
            ("APT::Architectures", "amd64"),
            ("Acquire::Languages", "none"),
            // Without it, apt reports success although it reached no suite.
            ("APT::Update::Error-Mode", "any"),
        ] {
            option(name, Path::new(value));
        }
        let apt = Self { options };
        run(apt.command("apt-get").args(["-q", "update"]))?;
        Ok(apt)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        // apt translates the words `Depends:` and `Candidate:`, which are searched for below.
        command.args(&self.options).env("LC_ALL", "C");
        command
    }

    fn said(&self, words: &[&str]) -> Result<String, LabError> {
        let output =
            run(self.command("apt-cache").args(words)).map_err(|error| LabError::NoKernel {
                reason: error.to_string(),
            })?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The newest kernel package of the distribution.
    pub(crate) fn newest(&self) -> Result<Package, LabError> {
        let unknown = |what: String| LabError::NoKernel {
            reason: format!("apt knows no {what} (apt-get update?)"),
        };
        let listing = self.said(&["depends", NEWEST])?;
        let name = dependency(&listing).ok_or_else(|| unknown(format!("package {NEWEST}")))?;
        let listing = self.said(&["policy", &name])?;
        let version = candidate(&listing).ok_or_else(|| unknown(format!("version of {name}")))?;
        Ok(Package { name, version })
    }

    /// The newest package of the kernel `wanted`.
    pub(crate) fn find(&self, wanted: &KernelVersion) -> Result<Package, LabError> {
        let names = self.said(&["pkgnames", IMAGE])?;
        let mut words = vec!["madison"];
        words.extend(names.lines());
        newest_of(&self.said(&words)?, wanted)
    }

    /// Downloads a kernel and unpacks its needed parts into `folder`.
    pub(crate) fn unpack(&self, package: &Package, folder: &Path) -> Result<(), LabError> {
        let about = self.said(&["show", &package.to_string()])?;
        let mut names = vec![package.to_string()];
        names.extend(parts(&about, package));
        let place = tempfile::tempdir_in(folder).map_err(unwritten(folder))?;
        run(self
            .command("apt-get")
            .arg("download")
            .args(names)
            .current_dir(place.path()))?;
        for entry in fs::read_dir(place.path()).map_err(unread(place.path()))? {
            unpack(&entry.map_err(unread(place.path()))?.path(), folder)?;
        }
        // A package for a merged /usr has its modules below /usr/lib.
        let merged = folder.join("usr/lib");
        if merged.exists() {
            let plain = folder.join("lib");
            fs::rename(&merged, &plain).map_err(unwritten(&plain))?;
        }
        Ok(())
    }
}

/// An error if this machine cannot verify Debian's archive.
pub(crate) fn has_keys() -> Result<(), LabError> {
    if Path::new(KEYRING).is_file() {
        return Ok(());
    }
    Err(LabError::NoKernel {
        reason: format!("{KEYRING} is missing: apt-get install debian-archive-keyring"),
    })
}

fn dependency(listing: &str) -> Option<String> {
    listing
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: "))
        .find(|package| package.starts_with(IMAGE))
        .map(str::to_owned)
}

fn candidate(listing: &str) -> Option<String> {
    let version = listing
        .lines()
        .find_map(|line| line.trim().strip_prefix("Candidate: "))?;
    (version != "(none)").then(|| version.to_owned())
}

/// The newest package of the kernel `wanted` in a listing of `NAME | VERSION | SOURCE`.
fn newest_of(listing: &str, wanted: &KernelVersion) -> Result<Package, LabError> {
    let package = |line: &str| {
        let mut columns = line.split('|').map(str::trim);
        Some(Package {
            name: columns.next()?.to_owned(),
            version: columns.next()?.to_owned(),
        })
    };
    let mut kernels: Vec<Package> = listing.lines().filter_map(package).collect();
    kernels.retain(Package::is_plain_kernel);
    kernels.sort();
    let candidates = kernels.iter().map(|package| (package.clone(), ()));
    if let Some((found, ())) = version::best(candidates, wanted) {
        return Ok(found);
    }
    let mut known: Vec<String> = kernels
        .iter()
        .map(|package| package.upstream().to_owned())
        .collect();
    known.dedup();
    Err(LabError::NoSuchKernel {
        wanted: wanted.to_string(),
        known,
    })
}

/// The other packages of the kernel `package`, as `NAME=VERSION`, from its description.
fn parts(about: &str, package: &Package) -> Vec<String> {
    let depends = about.lines().find_map(|line| line.strip_prefix("Depends:"));
    let same = format!(" (= {})", package.version);
    let names = depends.unwrap_or_default().split(',').filter_map(|text| {
        let name = text.trim().strip_suffix(&same)?;
        let is_part = PARTS.iter().any(|part| name.starts_with(part));
        is_part.then(|| format!("{name}={}", package.version))
    });
    names.collect()
}

/// Unpacks the needed parts of a package.
fn unpack(package: &Path, folder: &Path) -> Result<(), LabError> {
    let cannot_run = |program: &str| {
        let program = program.to_owned();
        |source| LabError::Run { program, source }
    };
    let mut archive = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(package)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(cannot_run("dpkg-deb"))?;
    let bytes = archive.stdout.take().map_or_else(Stdio::null, Stdio::from);
    let modules = ["./lib", "./usr/lib"]
        .into_iter()
        .flat_map(|root| MODULES.map(|part| format!("{root}/modules/*/{part}")));
    // Ignore tar's exit code: tar fails if a pattern matches nothing. Missing files are reported
    // later, at their use.
    let output = Command::new("tar")
        .args(["-x", "--wildcards", "-C"])
        .arg(folder)
        .arg("./boot/vmlinuz-*")
        .args(modules)
        .stdin(bytes)
        .output()
        .map_err(cannot_run("tar"))?;
    let status = archive.wait().map_err(cannot_run("dpkg-deb"))?;
    if !status.success() {
        return Err(failed("dpkg-deb", &output));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_kernel_matches_the_order_of_apt() {
        let depends = "linux-image-amd64\n  Depends: linux-image-6.1.0-56-amd64\n";
        assert_eq!(dependency(depends).unwrap(), "linux-image-6.1.0-56-amd64");
        let policy = "linux-image-6.1.0-56-amd64:\n  Installed: (none)\n  Candidate: 6.1.192-2\n";
        assert_eq!(candidate(policy).unwrap(), "6.1.192-2");
        assert_eq!(candidate("x:\n  Candidate: (none)\n"), None);
    }

    const LISTING: &str = "\
        linux-image-6.12-amd64 | 6.12.113-1~deb12u1 | http://deb.debian.org/debian-security x\n\
        linux-image-6.12.95+deb12-amd64 | 6.12.95-1~bpo12+1 | http://deb.debian.org/debian x\n\
        linux-image-6.1.0-56-amd64 | 6.1.192-2 | http://deb.debian.org/debian-security x\n\
        linux-image-6.12.100+deb13-amd64 |   6.12.100-1 | http://deb.debian.org/debian x\n\
        linux-image-6.12.100+deb13-cloud-amd64 | 6.12.100-1 | http://deb.debian.org/debian x\n\
        linux-image-6.12.100+deb12-amd64 |   6.12.100-1~deb12u1 | http://deb.debian.org/debian x\n";

    #[test]
    fn series_is_its_newest_kernel() {
        let newest = |wanted: &str| newest_of(LISTING, &wanted.parse().unwrap()).unwrap();
        assert_eq!(newest("6.12").upstream(), "6.12.100");
        assert_eq!(newest("6.12.95").version, "6.12.95-1~bpo12+1");
        assert_eq!(newest("6").upstream(), "6.12.100");
    }

    #[test]
    fn unknown_version_is_refused_with_the_known_ones() {
        let error = newest_of(LISTING, &"6.13".parse().unwrap()).unwrap_err();
        insta::assert_snapshot!(error, @"Debian's archive has no kernel 6.13; it has 6.1.192, 6.12.95, 6.12.100");
    }

    #[test]
    fn divided_kernel_has_all_its_parts() {
        let package = Package::named("linux-image-7.2.12+deb14-amd64=7.2.12-1").unwrap();
        let about = "Package: linux-image-7.2.12+deb14-amd64\nPre-Depends: linux-base (>= 4.17~)\n\
            Depends: dracut | initramfs-tools (>= 0.120), linux-base-7.2.12+deb14-amd64 (= 7.2.12-1), \
            linux-binary-7.2.12+deb14-amd64 (= 7.2.12-1), linux-modules-7.2.12+deb14-amd64 (= 7.2.12-1)\n";
        insta::assert_snapshot!(parts(about, &package).join("\n"), @r"
        linux-base-7.2.12+deb14-amd64=7.2.12-1
        linux-binary-7.2.12+deb14-amd64=7.2.12-1
        linux-modules-7.2.12+deb14-amd64=7.2.12-1
        ");
        let whole = "Depends: kmod, linux-base (>= 4.3~), initramfs-tools (>= 0.120) | dracut\n";
        assert!(parts(whole, &package).is_empty());
    }
}
