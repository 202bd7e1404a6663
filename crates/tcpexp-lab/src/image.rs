//! The image that a guest boots: a kernel, and an initial file system with programs of this machine.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::LabError;
use crate::cache::{self, Cache};
use crate::cpio::{Archive, Kind};
use crate::files::{files_below, read, unread, unwritten};
use crate::kernel::{Kernel, KernelSource, index_modules};
use crate::programs::{self, DEPMOD, Program};
use crate::unwrap::unwrapped;
use crate::{libraries, modules};

/// A kernel and an initial file system for guests.
///
/// It contains a kernel and copies of programs on this machine. It is kept in a [`Cache`] and rebuilt
/// when any of these files changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The kernel.
    pub kernel: PathBuf,
    /// The initial file system, as a cpio archive.
    pub root: PathBuf,
    /// The release of the kernel, as `uname -r` prints it in a guest.
    pub release: String,
}

/// Largest number of images in a cache: those of a few kernels. A guest that runs an older one has
/// read it already.
const MAX_IMAGES: usize = 4;

/// Our own files in the guest.
const ASSETS: [(&str, Kind, &str); 9] = [
    ("init", Kind::Program, include_str!("../assets/init.sh")),
    ("lab/host", Kind::File, include_str!("../assets/host.sh")),
    (
        "etc/ssh/sshd_config",
        Kind::File,
        include_str!("../assets/sshd_config"),
    ),
    (
        "etc/passwd",
        Kind::File,
        "root:x:0:0:root:/root:/bin/bash\nsshd:x:101:65534::/run/sshd:/bin/false\n\
         tcpdump:x:102:102::/:/bin/false\nnobody:x:65534:65534::/:/bin/false\n",
    ),
    (
        "etc/group",
        Kind::File,
        "root:x:0:\ntcpdump:x:102:\nnogroup:x:65534:\n",
    ),
    ("etc/shadow", Kind::Secret, "root:*:19000:0:99999:7:::\n"),
    (
        "etc/nsswitch.conf",
        Kind::File,
        "passwd: files\ngroup: files\nhosts: files\n",
    ),
    (
        "usr/bin/netem-ctl",
        Kind::Program,
        "#!/bin/sh\nexec tcpexp netem \"$@\"\n",
    ),
    ("etc/hostname", Kind::File, "lab\n"),
];

/// The guest's only folders for programs and libraries.
const LINKS: [(&str, &str); 5] = [
    ("bin", "usr/bin"),
    ("sbin", "usr/bin"),
    ("usr/sbin", "bin"),
    ("lib", "usr/lib"),
    ("lib64", "usr/lib64"),
];

const FOLDERS: [&str; 13] = [
    "dev",
    "lab",
    "mnt",
    "out",
    "proc",
    "root/.ssh",
    "run",
    "sys",
    "tmp",
    "usr/lib64",
    "var/empty",
    "var/log",
    "var/tmp",
];

/// Small programs that busybox provides: those that this machine may lack, and those that the scripts of a run start
/// most often. Busybox loads no libraries, so that it takes half of their processor time.
const APPLETS: [&str; 18] = [
    "awk", "cat", "dmesg", "free", "hexdump", "httpd", "less", "mkdir", "mv", "nc", "poweroff",
    "reboot", "rm", "sleep", "top", "uname", "vi", "wget",
];

/// The parts of an image.
struct Ingredients {
    kernel: Kernel,
    programs: Vec<(Program, PathBuf)>,
    /// Files copied to the same path.
    as_they_are: BTreeSet<PathBuf>,
}

impl Image {
    /// The image with this machine's programs and `kernel`. Builds it unless the cache has it.
    pub fn ensure(cache: &Cache, kernel: &KernelSource) -> Result<Self, LabError> {
        Self::from(cache, |cache| Kernel::ensure(cache, kernel))
    }

    /// The image with the newest kernel of `kernel`, even if the cache has an older one.
    pub fn with_newest_kernel(cache: &Cache, kernel: &KernelSource) -> Result<Self, LabError> {
        Self::from(cache, |cache| Kernel::newest(cache, kernel))
    }

    fn from(
        cache: &Cache,
        kernel: impl FnOnce(&Cache) -> Result<Kernel, LabError>,
    ) -> Result<Self, LabError> {
        // Check before the download, to report missing programs at once.
        let mut programs = programs::copied();
        programs.extend([programs::QEMU, DEPMOD, programs::XZ]);
        let mut programs = programs::find(&programs)?;
        // The last three run on this machine only, so the guest needs no copy.
        programs.truncate(programs.len() - 3);
        let ingredients = Ingredients::new(kernel(cache)?, programs)?;
        let folder = cache.images().join(ingredients.key()?);
        if folder.exists() {
            cache::refresh(&folder);
        } else {
            let made = cache.workplace()?;
            ingredients.build(made.path())?;
            cache::keep(made, &folder)?;
            cache::forget_oldest(&cache.images(), MAX_IMAGES)?;
        }
        Ok(Self {
            kernel: folder.join("kernel"),
            root: folder.join("root.cpio"),
            release: ingredients.kernel.release,
        })
    }
}

impl Image {
    /// The folder of saved states of this image.
    pub(crate) fn states(&self) -> PathBuf {
        self.root.with_file_name("states")
    }
}

impl Ingredients {
    fn new(kernel: Kernel, programs: Vec<(Program, PathBuf)>) -> Result<Self, LabError> {
        let mut as_they_are = BTreeSet::new();
        // Helpers that newer versions of sshd run for each connection, and the server of sftp and scp.
        for name in ["sftp-server", "sshd-session", "sshd-auth"] {
            let path = Path::new("/usr/lib/openssh").join(name);
            if path.is_file() {
                as_they_are.insert(path);
            }
        }
        let mut with_libraries: Vec<PathBuf> =
            programs.iter().map(|(_, path)| path.clone()).collect();
        with_libraries.extend(as_they_are.iter().cloned());
        let libraries = libraries::of(&with_libraries)?;
        // The tables of delay distributions of tc are beside the libraries.
        let folders: BTreeSet<&Path> = libraries.iter().filter_map(|path| path.parent()).collect();
        let tables = folders.iter().map(|folder| folder.join("tc"));
        for folder in tables.chain([PathBuf::from("/usr/lib/tc")]) {
            if folder.is_dir() {
                as_they_are.extend(files_below(&folder)?);
            }
        }
        as_they_are.extend(libraries);
        Ok(Self {
            kernel,
            programs,
            as_they_are,
        })
    }

    /// A name that depends on all contents.
    fn key(&self) -> Result<String, LabError> {
        let mut inputs = vec![self.kernel.image.clone()];
        inputs.extend(self.programs.iter().map(|(_, path)| path.clone()));
        inputs.extend(self.as_they_are.iter().cloned());
        let chosen = modules::choose(&self.kernel)?;
        // A built module may replace another without a new index.
        let modules = chosen
            .files
            .iter()
            .map(|file| self.kernel.modules.join(file));
        inputs.extend(modules.chain(modules::lists(&self.kernel)));
        let names: Vec<&str> = self
            .programs
            .iter()
            .map(|(program, _)| program.name)
            .collect();
        let mut lines = vec![format!(
            "{ASSETS:?} {LINKS:?} {FOLDERS:?} {APPLETS:?} {chosen:?} {names:?} {}",
            self.kernel.release
        )];
        for path in inputs {
            let about = fs::metadata(&path).map_err(unread(&path))?;
            let (bytes, seconds, nanos) = (about.len(), about.mtime(), about.mtime_nsec());
            lines.push(format!("{} {bytes} {seconds}.{nanos}", path.display()));
        }
        let text = lines.join("\n");
        let checksum = crc::Crc::<u64>::new(&crc::CRC_64_XZ).checksum(text.as_bytes());
        Ok(format!("{checksum:016x}"))
    }

    fn build(&self, folder: &Path) -> Result<(), LabError> {
        let kernel = folder.join("kernel");
        let file = read(&self.kernel.image)?;
        // A software CPU boots the decompressed kernel faster, but QEMU boots the file itself too.
        let bootable = unwrapped(&file).unwrap_or(file);
        fs::write(&kernel, bootable).map_err(unwritten(&kernel))?;
        let path = folder.join("root.cpio");
        let file = File::create(&path).map_err(unwritten(&path))?;
        let mut archive = Archive::new(BufWriter::new(file));
        self.add_all(&mut archive, folder)?;
        for folder in FOLDERS {
            archive.folder(folder).map_err(unwritten(&path))?;
        }
        archive
            .finish()
            .and_then(|mut out| out.flush())
            .map_err(unwritten(&path))
    }

    fn add_all<W: Write>(&self, archive: &mut Archive<W>, folder: &Path) -> Result<(), LabError> {
        let name = folder.join("root.cpio");
        let mut add = |path: &str, kind, content: &[u8]| {
            archive.add(path, kind, content).map_err(unwritten(&name))
        };
        for (link, target) in LINKS {
            add(link, Kind::Link, target.as_bytes())?;
        }
        add("dev/console", Kind::Console, &[])?;
        for (path, kind, content) in ASSETS {
            add(path, kind, content.as_bytes())?;
        }
        for (program, path) in &self.programs {
            add(
                &format!("usr/bin/{}", program.name),
                Kind::Program,
                &read(path)?,
            )?;
        }
        for applet in APPLETS {
            add(&format!("usr/bin/{applet}"), Kind::Link, b"busybox")?;
        }
        for path in &self.as_they_are {
            add(&place_in_guest(path), Kind::Program, &read(path)?)?;
        }
        let modules = modules::choose(&self.kernel)?;
        add(
            "lab/modules",
            Kind::File,
            modules.loaded.join(" ").as_bytes(),
        )?;
        for (path, content) in self.modules(&modules.files, folder)? {
            add(&path, Kind::File, &content)?;
        }
        Ok(())
    }

    /// The modules and their index, as paths in the guest and contents.
    fn modules(
        &self,
        files: &BTreeSet<String>,
        folder: &Path,
    ) -> Result<Vec<(String, Vec<u8>)>, LabError> {
        let release = &self.kernel.release;
        let root = tempfile::tempdir_in(folder).map_err(unwritten(folder))?;
        let here = root.path().join("lib/modules").join(release);
        let lists = modules::lists(&self.kernel);
        let modules = files.iter().map(|file| self.kernel.modules.join(file));
        for path in lists.into_iter().chain(modules) {
            let place = match path.strip_prefix(&self.kernel.modules) {
                Ok(below) => here.join(below),
                Err(_) => continue,
            };
            if let Some(above) = place.parent() {
                fs::create_dir_all(above).map_err(unwritten(above))?;
            }
            fs::copy(&path, &place).map_err(unread(&path))?;
        }
        // A new index, because the index of the package also lists modules missing in the guest.
        index_modules(root.path(), release)?;
        let mut contents = Vec::new();
        for path in files_below(root.path())? {
            let below = path.strip_prefix(root.path()).unwrap_or(&path);
            contents.push((format!("usr/{}", below.display()), read(&path)?));
        }
        Ok(contents)
    }
}

/// Returns the path of a file in a guest, where `/lib` and `/lib64` are links.
pub(crate) fn place_in_guest(path: &Path) -> String {
    let path = path.to_string_lossy();
    let path = path.trim_start_matches('/');
    if path.starts_with("lib/") || path.starts_with("lib64/") {
        format!("usr/{path}")
    } else {
        path.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_library_has_one_path_in_a_guest() {
        let place = |path: &str| place_in_guest(Path::new(path));
        assert_eq!(place("/lib64/ld.so.2"), "usr/lib64/ld.so.2");
        assert_eq!(
            place("/lib/x86_64-linux-gnu/libc.so.6"),
            "usr/lib/x86_64-linux-gnu/libc.so.6"
        );
        assert_eq!(
            place("/usr/lib/openssh/sftp-server"),
            "usr/lib/openssh/sftp-server"
        );
    }
}
