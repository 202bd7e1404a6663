//! The kernel of guests.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tcpexp_lab::{Cache, Image, KernelSource};

/// Options of the guest's kernel.
#[derive(clap::Args)]
pub(crate) struct KernelArgs {
    /// Kernel to boot: a version in Debian's archive, such as 6.12 or 7.2.12, or a kernel file
    /// [default: the kernel of the package linux-image-amd64]
    ///
    /// For a version of two numbers, tcpexp takes the newest kernel of this version in the cache, or
    /// in the archive if the cache has none. apt checks the archive's signatures. A value that
    /// contains a slash, or that does not begin with a digit, is a file.
    #[arg(long, value_name = "VERSION|FILE")]
    pub(crate) kernel: Option<PathBuf>,

    /// Modules of the kernel file: /lib/modules/VERSION, or the directory to which the modules of a
    /// built kernel were installed [default: those installed beside the file or on this machine]
    #[arg(long, value_name = "DIR", requires = "kernel")]
    pub(crate) modules: Option<PathBuf>,
}

impl KernelArgs {
    pub(crate) fn source(&self) -> KernelSource {
        self.kernel
            .as_ref()
            .map_or(KernelSource::Distribution, |kernel| {
                source_of(kernel, self.modules.as_deref())
            })
    }
}

/// The kernel that the user calls `kernel`.
pub(crate) fn source_of(kernel: &Path, modules: Option<&Path>) -> KernelSource {
    let version = kernel.to_str().and_then(|text| text.parse().ok());
    match (version, modules) {
        (Some(version), None) => KernelSource::Debian(version),
        // A kernel with modules is a file, whatever its name.
        (_, modules) => KernelSource::Files {
            image: kernel.to_owned(),
            modules: modules.map(Path::to_owned),
        },
    }
}

/// Returns the guest image with a kernel, from the user's cache; builds it if missing.
pub(crate) fn image(kernel: &KernelSource) -> anyhow::Result<Image> {
    Ok(Image::ensure(&users_cache()?, kernel)?)
}

pub(crate) fn users_cache() -> anyhow::Result<Cache> {
    let users = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    // The XDG base directory specification declares relative paths invalid.
    let users = users.filter(|folder| folder.is_absolute());
    let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".cache"));
    let users = users
        .or_else(home)
        .context("HOME is not set: name a directory with --cache")?;
    Ok(Cache::at(users.join("tcpexp/lab")))
}
