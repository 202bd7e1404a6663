//! The guest's kernel: the distribution's, unpacked but not installed, or given files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::LabError;
use crate::cache::{self, Cache};
use crate::files::{failed, run, unread, unwritten};

/// The kernel of a guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KernelSource {
    /// The kernel package of the distribution, downloaded with apt at first use.
    #[default]
    Distribution,
    /// Files on this machine.
    Files {
        /// The kernel: `/boot/vmlinuz-…`.
        image: PathBuf,
        /// Its modules: `/lib/modules/VERSION`.
        modules: PathBuf,
    },
}

/// A kernel on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kernel {
    pub(crate) image: PathBuf,
    /// Folder with `modules.dep`; its name is the kernel's version.
    pub(crate) modules: PathBuf,
}

/// The package that always depends on the newest kernel package.
const NEWEST: &str = "linux-image-amd64";

/// The unpacked parts of a kernel package: the kernel, and modules for networks and virtual devices.
/// All modules would be ten times as large.
const UNPACKED: [&str; 13] = [
    "./boot/vmlinuz-*",
    "./lib/modules/*/modules.*",
    "./lib/modules/*/kernel/arch/*",
    "./lib/modules/*/kernel/crypto/*",
    "./lib/modules/*/kernel/drivers/firmware/qemu_fw_cfg.ko*",
    "./lib/modules/*/kernel/drivers/net/*.ko*",
    "./lib/modules/*/kernel/drivers/virtio/*",
    "./lib/modules/*/kernel/fs/9p/*",
    "./lib/modules/*/kernel/fs/fscache/*",
    "./lib/modules/*/kernel/fs/netfs/*",
    "./lib/modules/*/kernel/lib/*",
    "./lib/modules/*/kernel/net/*",
    "./usr/lib/modules/*",
];

impl Kernel {
    /// The kernel of `source`. For the distribution's, any cached version is used.
    pub(crate) fn ensure(cache: &Cache, source: &KernelSource) -> Result<Self, LabError> {
        match source {
            KernelSource::Files { image, modules } => Ok(Self {
                image: image.clone(),
                modules: modules.clone(),
            }),
            KernelSource::Distribution => match Self::newest_cached(cache)? {
                Some(kernel) => Ok(kernel),
                None => Self::download(cache),
            },
        }
    }

    /// The distribution's newest kernel.
    pub(crate) fn download(cache: &Cache) -> Result<Self, LabError> {
        let package = newest_package()?;
        let folder = cache.kernels().join(&package);
        if !folder.exists() {
            let made = cache.workplace()?;
            unpack(&fetch(&package, made.path())?, made.path())?;
            // The index comes before the final name, so that a cached kernel is always complete.
            Self::in_folder(made.path())?.index(made.path())?;
            cache::keep(made, &folder)?;
        }
        Self::in_folder(&folder)
    }

    /// The newest kernel in the cache.
    pub(crate) fn newest_cached(cache: &Cache) -> Result<Option<Self>, LabError> {
        let newest = cache::by_age(&cache.kernels(), |_| true)?.pop();
        newest.map(|(_, path)| Self::in_folder(&path)).transpose()
    }

    /// The kernel unpacked in `folder`.
    fn in_folder(folder: &Path) -> Result<Self, LabError> {
        Ok(Self {
            image: only_entry(&folder.join("boot"))?,
            modules: only_entry(&folder.join("lib/modules"))?,
        })
    }

    /// Writes the dependencies of modules.
    fn index(&self, folder: &Path) -> Result<(), LabError> {
        index_modules(folder, &self.version()?)
    }

    pub(crate) fn version(&self) -> Result<String, LabError> {
        let name = self.modules.file_name().and_then(|name| name.to_str());
        name.map(str::to_owned).ok_or_else(|| LabError::NoKernel {
            reason: format!("{} names no version", self.modules.display()),
        })
    }
}

/// Writes the index of the modules below `root` for `modprobe`.
pub(crate) fn index_modules(root: &Path, version: &str) -> Result<(), LabError> {
    run(Command::new("depmod")
        .arg("-b")
        .arg(root)
        .arg(version)
        .env("PATH", SYSTEM_PATH))?;
    Ok(())
}

/// Folders of administration programs, which some users' paths lack.
const SYSTEM_PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// The newest kernel package, as `NAME=VERSION`.
pub(crate) fn newest_package() -> Result<String, LabError> {
    let no_kernel = |reason: String| LabError::NoKernel { reason };
    let said = |command: &mut Command| {
        let output =
            // apt translates the words `Depends:` and `Candidate:`, which are searched for below.
            run(command.env("LC_ALL", "C")).map_err(|error| no_kernel(error.to_string()))?;
        Ok::<_, LabError>(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let listing = said(Command::new("apt-cache").args(["depends", NEWEST]))?;
    let package = dependency(&listing)
        .ok_or_else(|| no_kernel(format!("apt knows no package {NEWEST} (apt-get update?)")))?;
    let listing = said(Command::new("apt-cache").args(["policy", &package]))?;
    let version = candidate(&listing).ok_or_else(|| {
        no_kernel(format!(
            "apt knows no version of {package} (apt-get update?)"
        ))
    })?;
    Ok(format!("{package}={version}"))
}

fn dependency(listing: &str) -> Option<String> {
    listing
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: "))
        .find(|package| package.starts_with("linux-image-"))
        .map(str::to_owned)
}

fn candidate(listing: &str) -> Option<String> {
    let version = listing
        .lines()
        .find_map(|line| line.trim().strip_prefix("Candidate: "))?;
    (version != "(none)").then(|| version.to_owned())
}

/// Downloads a package into `folder`.
fn fetch(package: &str, folder: &Path) -> Result<PathBuf, LabError> {
    run(Command::new("apt-get")
        .args(["download", package])
        .current_dir(folder))?;
    only_entry(folder)
}

/// Unpacks the needed parts of a kernel package and removes the package.
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
    // Ignore tar's exit code: tar fails if a pattern matches nothing. Missing files are reported
    // later, at their use.
    let output = Command::new("tar")
        .args(["-x", "--wildcards", "-C"])
        .arg(folder)
        .args(UNPACKED)
        .stdin(bytes)
        .output()
        .map_err(cannot_run("tar"))?;
    let status = archive.wait().map_err(cannot_run("dpkg-deb"))?;
    if !status.success() {
        return Err(failed("dpkg-deb", &output));
    }
    fs::remove_file(package).map_err(unwritten(package))?;
    // A package for a merged /usr has its modules below /usr/lib.
    let merged = folder.join("usr/lib");
    if merged.exists() {
        let plain = folder.join("lib");
        fs::rename(&merged, &plain).map_err(unwritten(&plain))?;
    }
    Ok(())
}

/// The only entry of a folder.
fn only_entry(folder: &Path) -> Result<PathBuf, LabError> {
    let mut entries = fs::read_dir(folder).map_err(unread(folder))?;
    match (entries.next(), entries.next()) {
        (Some(entry), None) => Ok(entry.map_err(unread(folder))?.path()),
        (None, _) => Err(LabError::NoKernel {
            reason: format!("there is nothing in {}", folder.display()),
        }),
        (Some(_), Some(_)) => Err(LabError::NoKernel {
            reason: format!("there are several of them in {}", folder.display()),
        }),
    }
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
}
