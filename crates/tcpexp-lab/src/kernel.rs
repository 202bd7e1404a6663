//! The guest's kernel: the distribution's, another one of Debian's, or given files.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::LabError;
use crate::apt::Apt;
use crate::cache::{self, Cache};
use crate::files::{read, run, unread};
use crate::unwrap;
use crate::version::{self, KernelVersion, Package};

/// The kernel of a guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KernelSource {
    /// The kernel package of the distribution, downloaded with apt at first use.
    #[default]
    Distribution,
    /// A kernel of Debian's archive, downloaded with apt at first use.
    Debian(KernelVersion),
    /// Files on this machine.
    Files {
        /// The kernel: `/boot/vmlinuz-…`, or `arch/x86/boot/bzImage` of a built kernel.
        image: PathBuf,
        /// Its modules: `/lib/modules/VERSION`, or a folder that `make modules_install` filled. If
        /// `None`, the modules are those installed beside the kernel or on this machine.
        modules: Option<PathBuf>,
    },
}

/// A kernel on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kernel {
    pub(crate) image: PathBuf,
    /// Folder with `modules.dep`.
    pub(crate) modules: PathBuf,
    /// The release, as `uname -r` prints it.
    pub(crate) release: String,
}

impl Kernel {
    /// The kernel of `source`. A kernel in the cache is used even if a package is newer.
    pub(crate) fn ensure(cache: &Cache, source: &KernelSource) -> Result<Self, LabError> {
        match Self::cached(cache, source)? {
            Some(kernel) => Ok(kernel),
            None => Self::newest(cache, source),
        }
    }

    /// The newest kernel of `source`.
    pub(crate) fn newest(cache: &Cache, source: &KernelSource) -> Result<Self, LabError> {
        match source {
            KernelSource::Files { image, modules } => Self::of_files(image, modules.as_deref()),
            KernelSource::Distribution => {
                let apt = Apt::of_this_machine();
                Self::download(cache, &apt, &apt.newest()?, &cache.kernels())
            }
            KernelSource::Debian(version) => {
                let lists = cache.workplace()?;
                let apt = Apt::of_debian(lists.path())?;
                Self::download(cache, &apt, &apt.find(version)?, &cache.other_kernels())
            }
        }
    }

    /// The kernel of `source` in the cache.
    pub(crate) fn cached(cache: &Cache, source: &KernelSource) -> Result<Option<Self>, LabError> {
        let folder = match source {
            KernelSource::Files { .. } => None,
            KernelSource::Distribution => cache::by_age(&cache.kernels(), |_| true)?
                .pop()
                .map(|(_, path)| path),
            KernelSource::Debian(version) => {
                let mut kernels = packages(&cache.kernels())?;
                kernels.extend(packages(&cache.other_kernels())?);
                version::best(kernels, version).map(|(_, path)| path)
            }
        };
        folder.map(|path| Self::in_folder(&path)).transpose()
    }

    fn download(
        cache: &Cache,
        apt: &Apt,
        package: &Package,
        kernels: &Path,
    ) -> Result<Self, LabError> {
        let folder = kernels.join(package.to_string());
        if !folder.exists() {
            let made = cache.workplace()?;
            apt.unpack(package, made.path())?;
            // The index comes before the final name, so that a cached kernel is always complete.
            let kernel = Self::in_folder(made.path())?;
            index_modules(made.path(), &kernel.release)?;
            cache::keep(made, &folder)?;
        }
        Self::in_folder(&folder)
    }

    /// The kernel unpacked in `folder`.
    fn in_folder(folder: &Path) -> Result<Self, LabError> {
        let modules = only_entry(&folder.join("lib/modules"))?;
        // Newer packages have the kernel beside its modules.
        let beside = modules.join("vmlinuz");
        let image = if beside.is_file() {
            beside
        } else {
            only_entry(&folder.join("boot"))?
        };
        let release = name_of(&modules);
        Ok(Self {
            image,
            modules,
            release,
        })
    }

    /// The kernel in a file, and its modules.
    fn of_files(image: &Path, modules: Option<&Path>) -> Result<Self, LabError> {
        let release = unwrap::release(&read(image)?);
        let modules = match modules {
            Some(folder) => modules_in(folder, release.as_deref())?,
            None => modules_of(image, release.as_deref())?,
        };
        let name = name_of(&modules);
        // An uncompressed kernel does not name its release where it can be found.
        let release = release.unwrap_or_else(|| name.clone());
        // Other names are no evidence, because a folder of modules may be copied to any place.
        let is_release = name.starts_with(|first: char| first.is_ascii_digit());
        if is_release && name != release {
            return Err(LabError::NoKernel {
                reason: format!(
                    "{} is {release}, but its modules are of {name}",
                    image.display()
                ),
            });
        }
        Ok(Self {
            image: image.to_owned(),
            modules,
            release,
        })
    }
}

/// The packages in the cache, and their folders.
fn packages(folder: &Path) -> Result<Vec<(Package, PathBuf)>, LabError> {
    let entries = cache::by_age(folder, |_| true)?.into_iter();
    let package = |(_, path): (_, PathBuf)| Some((Package::named(&name_of(&path))?, path));
    Ok(entries.filter_map(package).collect())
}

/// The folder of modules that the user means by `folder`.
fn modules_in(folder: &Path, release: Option<&str>) -> Result<PathBuf, LabError> {
    if folder.join(INDEX).is_file() {
        return folder.canonicalize().map_err(unread(folder));
    }
    let installed = folder.join("lib/modules");
    let mut found: Vec<PathBuf> = Vec::new();
    if installed.is_dir() {
        for entry in fs::read_dir(&installed).map_err(unread(&installed))? {
            found.push(entry.map_err(unread(&installed))?.path());
        }
        found.retain(|path| path.join(INDEX).is_file());
        found.sort_unstable();
    }
    if let Some(same) = found.iter().find(|path| Some(&*name_of(path)) == release) {
        return Ok(same.clone());
    }
    match found.len() {
        0 => Err(LabError::NoKernel {
            reason: format!(
                "{} has no {INDEX}: fill it with make modules_install INSTALL_MOD_PATH={0}, or run \
                 depmod",
                folder.display()
            ),
        }),
        1 => Ok(found.remove(0)),
        versions => Err(LabError::WhichModules {
            path: folder.to_owned(),
            versions,
        }),
    }
}

/// The modules of `image` where installing it puts them.
fn modules_of(image: &Path, release: Option<&str>) -> Result<PathBuf, LabError> {
    let folder = image.parent().unwrap_or(Path::new(""));
    let mut places = vec![folder.to_owned()];
    if let Some(release) = release {
        let installed = Path::new("lib/modules").join(release);
        places.push(folder.join("..").join(&installed));
        places.push(Path::new("/").join(installed));
    }
    let has_index = |place: &PathBuf| place.join(INDEX).is_file();
    let found = places.into_iter().find(has_index);
    found.ok_or_else(|| LabError::NoKernel {
        reason: format!(
            "{}: modules for {} are not installed; name them with --modules",
            image.display(),
            release.unwrap_or("an unknown release")
        ),
    })
}

/// The index of a folder of modules.
const INDEX: &str = "modules.dep";

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_else(|| OsStr::new(""));
    name.to_string_lossy().into_owned()
}

/// Writes the index of the modules below `root` for `modprobe`.
pub(crate) fn index_modules(root: &Path, release: &str) -> Result<(), LabError> {
    run(Command::new("depmod")
        .arg("-b")
        .arg(root)
        .arg(release)
        .env("PATH", SYSTEM_PATH))?;
    Ok(())
}

/// Folders of administration programs, which some users' paths lack.
const SYSTEM_PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

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

    /// A cache with unpacked packages, oldest first.
    fn cache_with(kernels: &[(&str, &str)]) -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        for (place, package) in kernels {
            let package = Package::named(package).unwrap();
            let folder = folder.path().join(place).join(package.to_string());
            let modules = folder.join("lib/modules").join(package.release().unwrap());
            fs::create_dir_all(&modules).unwrap();
            fs::write(modules.join("vmlinuz"), "").unwrap();
        }
        (folder, cache)
    }

    #[test]
    fn cached_kernel_of_another_version_is_not_the_default() {
        let (_folder, cache) = cache_with(&[
            ("kernel-packages", "linux-image-6.1.0-56-amd64=6.1.192-2"),
            (
                "kernel-versions",
                "linux-image-6.12.95+deb13-amd64=6.12.95-1",
            ),
            ("kernel-versions", "linux-image-6.12.9+deb13-amd64=6.12.9-1"),
        ]);
        let cached = |source| {
            let kernel = Kernel::cached(&cache, &source).unwrap();
            kernel.map_or("none".to_owned(), |kernel| kernel.release)
        };
        let version = |text: &str| KernelSource::Debian(text.parse().unwrap());
        assert_eq!(cached(KernelSource::Distribution), "6.1.0-56-amd64");
        assert_eq!(cached(version("6.1")), "6.1.0-56-amd64");
        assert_eq!(cached(version("6.12")), "6.12.95+deb13-amd64");
        assert_eq!(cached(version("6.12.9")), "6.12.9+deb13-amd64");
        assert_eq!(cached(version("7")), "none");
    }

    /// A folder with an image of the release 7.0.1, and with modules.
    fn built(modules: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("bzImage");
        fs::write(&image, unwrap::image_of_release("7.0.1")).unwrap();
        for name in modules {
            let modules = folder.path().join(name);
            fs::create_dir_all(&modules).unwrap();
            fs::write(modules.join(INDEX), "").unwrap();
        }
        (folder, image)
    }

    #[test]
    fn modules_are_found_in_each_usual_place() {
        let (folder, image) = built(&["lib/modules/7.0.1", "lib/modules/7.0.2", "any"]);
        let release = |modules: &str| {
            let modules = folder.path().join(modules);
            Kernel::of_files(&image, Some(&modules)).map(|kernel| kernel.release)
        };
        assert_eq!(release("").unwrap(), "7.0.1");
        assert_eq!(release("any").unwrap(), "7.0.1");
        assert_eq!(release("lib/modules/7.0.1").unwrap(), "7.0.1");
        let error = release("lib/modules/7.0.2").unwrap_err().to_string();
        assert!(error.contains("its modules are of 7.0.2"), "{error}");
        let (folder, image) = built(&["lib/modules/7.0.2", "lib/modules/7.0.3"]);
        let error = Kernel::of_files(&image, Some(folder.path())).unwrap_err();
        assert!(
            matches!(error, LabError::WhichModules { versions: 2, .. }),
            "{error}"
        );
    }

    #[test]
    fn built_kernel_without_modules_is_refused() {
        let (folder, image) = built(&[]);
        let error = Kernel::of_files(&image, None).unwrap_err().to_string();
        assert!(
            error.contains("modules for 7.0.1 are not installed"),
            "{error}"
        );
        let error = Kernel::of_files(&image, Some(folder.path())).unwrap_err();
        assert!(error.to_string().contains("has no modules.dep"), "{error}");
    }
}
