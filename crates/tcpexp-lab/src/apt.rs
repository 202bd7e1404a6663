//! Kernel packages from apt: listed, downloaded and unpacked, never installed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::LabError;
use crate::files::{failed, run, unread, unwritten};
use crate::version::{self, FLAVOUR, IMAGE, KernelVersion, Package};

/// The package that always depends on the newest kernel package.
const NEWEST: &str = "linux-image-amd64";

/// Label of Debian's main archive in its release files.
const ARCHIVE: &str = "Debian";
/// Label of Debian's security updates.
const SECURITY: &str = "Debian-Security";

/// The suites with kernels and the labels of their archives, under the names that stay when a suite is
/// released.
const SUITES: [(&str, &str); 9] = [
    (ARCHIVE, "oldstable"),
    (SECURITY, "oldstable-security"),
    (ARCHIVE, "oldstable-backports"),
    (ARCHIVE, "stable"),
    (SECURITY, "stable-security"),
    (ARCHIVE, "stable-backports"),
    (ARCHIVE, "testing"),
    (ARCHIVE, "unstable"),
    (ARCHIVE, "experimental"),
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

    /// All suites of Debian's archive, from the mirrors that this machine uses. Their package lists
    /// are written below `folder`.
    ///
    /// apt trusts a list if its suite's signature is by a key of Debian's keyring, and a package if the
    /// list has its hash.
    pub(crate) fn of_debian(folder: &Path) -> Result<Self, LabError> {
        has_keys()?;
        let sources = folder.join("sources.list");
        let mirrors = mirrors()?;
        let line = |(label, suite): (&str, &str)| {
            let uri = mirrors.get(label)?;
            Some(format!("deb [signed-by={KEYRING}] {uri} {suite} main\n"))
        };
        let lines: String = SUITES.into_iter().filter_map(line).collect();
        fs::write(&sources, lines).map_err(unwritten(&sources))?;
        let (state, cache) = (folder.join("lists"), folder.join("cache"));
        for folder in [&state, &cache] {
            fs::create_dir_all(folder).map_err(unwritten(folder))?;
        }
        let mut options = Vec::new();
        let mut option = |name: &str, value: &Path| {
            let mut word = OsString::from(format!("{name}="));
            word.push(value);
            options.extend([OsString::from("-o"), word]);
        };
        option("Dir::Etc::sourcelist", &sources);
        option("Dir::State::lists", &state);
        option("Dir::Cache", &cache);
        for (name, value) in [
            ("Dir::Etc::sourceparts", "-"),
            // Without these names, as in containers, each command reads the lists anew.
            ("Dir::Cache::pkgcache", "pkgcache.bin"),
            ("Dir::Cache::srcpkgcache", "srcpkgcache.bin"),
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
        let mut words = vec!["show"];
        words.extend(names.lines().filter(|name| name.ends_with(FLAVOUR)));
        let kernels = described(&self.said(&words)?);
        let mut words = vec!["madison"];
        let parts = kernels.iter().flat_map(|(_, parts)| parts);
        words.extend(parts.map(|part| part.name.as_str()));
        let available = listed(&self.said(&words)?);
        newest_of(kernels, &available, wanted)
    }

    /// Downloads a kernel and unpacks its needed parts into `folder`.
    pub(crate) fn unpack(&self, package: &Package, folder: &Path) -> Result<(), LabError> {
        let about = self.said(&["show", &package.to_string()])?;
        let parts = described(&about).into_iter().flat_map(|(_, parts)| parts);
        let mut names = vec![package.to_string()];
        names.extend(parts.map(|part| part.to_string()));
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

/// The mirrors of Debian's archives among the package sources of this machine, by label.
fn mirrors() -> Result<BTreeMap<String, String>, LabError> {
    let mut command = Command::new("apt-get");
    let format = "$(LABEL) $(REPO_URI)";
    command.args(["indextargets", "--format", format, "Created-By: Packages"]);
    let output = run(&mut command).map_err(|error| LabError::NoKernel {
        reason: error.to_string(),
    })?;
    let mirrors = labelled(&String::from_utf8_lossy(&output.stdout));
    if mirrors.contains_key(ARCHIVE) {
        return Ok(mirrors);
    }
    Err(LabError::NoKernel {
        reason:
            "the package sources of this machine do not have Debian's archive (apt-get update?)"
                .to_owned(),
    })
}

/// Labels and addresses of archives, a pair per line.
fn labelled(listing: &str) -> BTreeMap<String, String> {
    let lines = listing.lines().filter_map(|line| line.split_once(' '));
    // The first mirror of an archive is the preferred one.
    let mut found = BTreeMap::new();
    for (label, uri) in lines.filter(|(label, _)| !label.is_empty()) {
        found
            .entry(label.to_owned())
            .or_insert_with(|| uri.trim().to_owned());
    }
    found
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

/// The packages in a listing of `NAME | VERSION | SOURCE`.
fn listed(listing: &str) -> BTreeSet<Package> {
    let package = |line: &str| {
        let mut columns = line.split('|').map(str::trim);
        Some(Package {
            name: columns.next()?.to_owned(),
            version: columns.next()?.to_owned(),
        })
    };
    listing.lines().filter_map(package).collect()
}

/// The packages in a text of descriptions, each with the packages of its parts.
fn described(text: &str) -> Vec<(Package, Vec<Package>)> {
    let package = |about: &str| {
        let field = |name: &str| about.lines().find_map(|line| line.strip_prefix(name));
        let package = Package {
            name: field("Package: ")?.to_owned(),
            version: field("Version: ")?.to_owned(),
        };
        let parts = parts(field("Depends: ").unwrap_or_default(), &package.version);
        Some((package, parts))
    };
    text.split("\n\n").filter_map(package).collect()
}

/// The parts of a kernel of a version, from its dependencies.
fn parts(depends: &str, version: &str) -> Vec<Package> {
    let same = format!(" (= {version})");
    let part = |text: &str| {
        let name = text.trim().strip_suffix(&same)?;
        let is_part = PARTS.iter().any(|part| name.starts_with(part));
        is_part.then(|| Package {
            name: name.to_owned(),
            version: version.to_owned(),
        })
    };
    depends.split(',').filter_map(part).collect()
}

/// The newest of the `kernels` with `wanted`. Kernels with parts that are not `available` do not count:
/// the archive removes parts earlier than the package that needs them.
fn newest_of(
    mut kernels: Vec<(Package, Vec<Package>)>,
    available: &BTreeSet<Package>,
    wanted: &KernelVersion,
) -> Result<Package, LabError> {
    kernels.retain(|(package, parts)| {
        package.is_plain_kernel() && parts.iter().all(|part| available.contains(part))
    });
    kernels.sort();
    let mut known: Vec<String> = kernels
        .iter()
        .map(|(package, _)| package.upstream().to_owned())
        .collect();
    known.dedup();
    match version::best(kernels, wanted) {
        Some((package, _)) => Ok(package),
        None => Err(LabError::NoSuchKernel {
            wanted: wanted.to_string(),
            known,
        }),
    }
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
    let output = Command::new("tar")
        .env("LC_ALL", "C")
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
    if !output.status.success() && !lacks_only_members(&String::from_utf8_lossy(&output.stderr)) {
        return Err(failed("tar", &output));
    }
    Ok(())
}

/// True if the messages of tar report nothing but patterns without a member: a package has its modules in
/// one of two folders. Missing files are reported later, at their use.
fn lacks_only_members(messages: &str) -> bool {
    messages.lines().all(|line| {
        line.ends_with("Not found in archive")
            || line.ends_with("Exiting with failure status due to previous errors")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tar_may_lack_members_but_not_space() {
        let lacking = "tar: ./lib/modules/*/kernel/net: Not found in archive\n\
            tar: Exiting with failure status due to previous errors\n";
        assert!(lacks_only_members(lacking));
        assert!(!lacks_only_members(
            "tar: ./boot/vmlinuz-6.1: Cannot write: No space left on device\n"
        ));
    }

    #[test]
    fn newest_kernel_matches_the_order_of_apt() {
        let depends = "linux-image-amd64\n  Depends: linux-image-6.1.0-56-amd64\n";
        assert_eq!(dependency(depends).unwrap(), "linux-image-6.1.0-56-amd64");
        let policy = "linux-image-6.1.0-56-amd64:\n  Installed: (none)\n  Candidate: 6.1.192-2\n";
        assert_eq!(candidate(policy).unwrap(), "6.1.192-2");
        assert_eq!(candidate("x:\n  Candidate: (none)\n"), None);
    }

    #[test]
    fn the_first_mirror_of_each_archive_is_used() {
        let found = labelled(
            "Debian http://one.example/debian/\nDebian http://two.example/debian/\n http://unread.example/\n\
             Debian-Security http://one.example/security/\n",
        );
        assert_eq!(found.len(), 2);
        assert_eq!(found[ARCHIVE], "http://one.example/debian/");
        assert_eq!(found[SECURITY], "http://one.example/security/");
    }

    const ABOUT: &str = "\
Package: linux-image-6.12-amd64
Version: 6.12.113-1~deb12u1
Depends: linux-image-6.12.113+deb12-amd64 (= 6.12.113-1~deb12u1)

Package: linux-image-6.12.95+deb12-amd64
Version: 6.12.95-1~bpo12+1
Depends: kmod, linux-base (>= 4.3~), initramfs-tools (>= 0.120) | dracut

Package: linux-image-6.1.0-56-amd64
Version: 6.1.192-2

Package: linux-image-6.12.100+deb13-amd64
Version: 6.12.100-1

Package: linux-image-6.12.100+deb13-cloud-amd64
Version: 6.12.100-2

Package: linux-image-7.2.12+deb14-amd64
Version: 7.2.12-1
Pre-Depends: linux-base (>= 4.17~)
Depends: dracut, linux-base-7.2.12+deb14-amd64 (= 7.2.12-1), linux-binary-7.2.12+deb14-amd64 (= 7.2.12-1), linux-modules-7.2.12+deb14-amd64 (= 7.2.12-1)

Package: linux-image-7.2.13+deb14-amd64
Version: 7.2.13-1
Depends: linux-modules-7.2.13+deb14-amd64 (= 7.2.13-1)
";

    const PARTS_THERE: &str = "\
        linux-base-7.2.12+deb14-amd64 |   7.2.12-1 | http://archive.example/debian x\n\
        linux-binary-7.2.12+deb14-amd64 | 7.2.12-1 | http://archive.example/debian x\n\
        linux-modules-7.2.12+deb14-amd64 | 7.2.12-1 | http://archive.example/debian x\n\
        linux-modules-7.2.13+deb14-amd64 | 7.2.13-2 | http://archive.example/debian x\n";

    fn newest(wanted: &str) -> Result<String, LabError> {
        let wanted = wanted.parse().unwrap();
        let found = newest_of(described(ABOUT), &listed(PARTS_THERE), &wanted)?;
        Ok(found.upstream().to_owned())
    }

    #[test]
    fn series_is_its_newest_complete_kernel() {
        assert_eq!(newest("6.12").unwrap(), "6.12.100");
        assert_eq!(newest("6.12.95").unwrap(), "6.12.95");
        assert_eq!(newest("6").unwrap(), "6.12.100");
        assert_eq!(newest("7.2").unwrap(), "7.2.12");
    }

    #[test]
    fn unknown_version_is_refused_with_the_known_ones() {
        let error = newest("6.13").unwrap_err();
        insta::assert_snapshot!(error, @"Debian's archive has no kernel 6.13; it has 6.1.192, 6.12.95, 6.12.100, 7.2.12");
    }

    #[test]
    fn divided_kernel_has_all_its_parts() {
        let kernels = described(ABOUT);
        let parts = |at: usize| {
            let names = kernels[at].1.iter().map(Package::to_string);
            names.collect::<Vec<_>>().join("\n")
        };
        assert_eq!(parts(1), "");
        insta::assert_snapshot!(parts(5), @r"
        linux-base-7.2.12+deb14-amd64=7.2.12-1
        linux-binary-7.2.12+deb14-amd64=7.2.12-1
        linux-modules-7.2.12+deb14-amd64=7.2.12-1
        ");
    }
}
