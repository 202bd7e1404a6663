//! The job of a guest, and how the guest receives it.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tcpexp_host::command_line;

use crate::LabError;
use crate::cpio::{Archive, Kind};
use crate::elf::without_sections;
use crate::files::{files_below, read, unread, unwritten};
use crate::image::{Image, place_in_guest};
use crate::libraries;
use crate::shape::{Host, Shape};
use crate::step::script;
use crate::topology::Topology;

/// The job of one guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The command and its arguments, run as root outside of the namespaces. If empty, a shell runs on
    /// the terminal.
    pub command: Vec<String>,
    /// The size of the terminal of a shell, in rows and columns.
    pub terminal: Option<(u16, u16)>,
    /// The hosts of the lab.
    pub shape: Shape,
    /// The guest's memory, which also holds its files.
    pub memory_mib: u32,
    /// Seed of the guest's random numbers. Guests with the same image, job and seed behave the same.
    pub seed: u64,
    /// Additional programs, which are copied with their libraries.
    pub programs: Vec<PathBuf>,
    /// Folder whose files appear in `/share`.
    pub share: Option<PathBuf>,
    /// Folder for the contents of the guest's `/out` at the end of the command.
    pub out: Option<PathBuf>,
}

impl Job {
    /// A job with one source and one sink, without shared files.
    pub fn new(command: Vec<String>) -> Self {
        Self {
            command,
            terminal: None,
            shape: Shape::default(),
            memory_mib: Self::USUAL_MEMORY_MIB,
            seed: 1,
            programs: Vec::new(),
            share: None,
            out: None,
        }
    }

    /// Memory of a guest unless more is asked for. The machine takes of it only what the guest has used.
    pub const USUAL_MEMORY_MIB: u32 = 3072;

    /// Seed of a machine until it receives its orders.
    pub(crate) const FIRST_SEED: u64 = 1;

    /// Writes the archive of the setting, which follows the image's archive.
    fn write_setting(&self, orders: Orders, out: impl Write, name: &Path) -> Result<(), LabError> {
        let mut archive = Archive::new(out);
        let mut add = |path: &str, kind, content: &[u8]| {
            archive.add(path, kind, content).map_err(unwritten(name))
        };
        for (path, content) in self.setting() {
            add(path, Kind::File, content.as_bytes())?;
        }
        for path in &self.programs {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            add(
                &format!("usr/bin/{name}"),
                Kind::Program,
                &without_sections(&read(path)?),
            )?;
        }
        for path in libraries::of(&self.programs)? {
            add(&place_in_guest(&path), Kind::Program, &read(&path)?)?;
        }
        if orders == Orders::Follow {
            add("lab/orders-follow", Kind::File, &[])?;
        }
        archive
            .finish()
            .and_then(|mut out| out.flush())
            .map_err(unwritten(name))
    }

    /// The orders of a guest: an archive with the command and the shared files.
    pub(crate) fn orders(&self) -> Result<Vec<u8>, LabError> {
        let mut archive = Archive::new(Vec::new());
        let mut add = |path: &str, kind, content: &[u8]| {
            archive
                .add(path, kind, content)
                .map_err(unwritten(Path::new(path)))
        };
        if !self.command.is_empty() {
            let command = format!("exec {}\n", command_line(&self.command));
            add("lab/command", Kind::File, command.as_bytes())?;
        }
        // A serial line has no size of its own.
        if let Some((rows, columns)) = self.terminal {
            let profile = format!("stty rows {rows} columns {columns}\n");
            add("root/.bash_profile", Kind::File, profile.as_bytes())?;
        }
        if self.out.is_some() {
            add("lab/out", Kind::File, &[])?;
        }
        if let Some(share) = &self.share {
            for path in self.shared(share)? {
                let below = path.strip_prefix(share).unwrap_or(&path);
                add(
                    &format!("share/{}", below.display()),
                    kind_of(&path)?,
                    &read(&path)?,
                )?;
            }
        }
        archive.finish().map_err(unwritten(Path::new("orders")))
    }

    /// The files to share. An error if they do not fit into the guest's memory.
    fn shared(&self, share: &Path) -> Result<Vec<PathBuf>, LabError> {
        let files = files_below(share)?;
        let mut bytes = 0;
        for path in &files {
            bytes += fs::metadata(path).map_err(unread(path))?.len();
        }
        // During boot a guest holds the files twice, packed and unpacked.
        let most = u64::from(self.memory_mib) * (1024 * 1024) / 4;
        if bytes > most {
            return Err(LabError::TooMuch {
                path: share.to_owned(),
                bytes,
                most,
                memory_mib: self.memory_mib,
            });
        }
        Ok(files)
    }

    /// Returns the files that the guest's first process reads before its orders.
    pub(crate) fn setting(&self) -> [(&'static str, String); 4] {
        let hosts = self.shape.hosts();
        let topology = Topology::new(self.shape);
        let mut steps = topology.create();
        steps.extend(topology.control());
        [
            ("lab/topology", script(&steps)),
            ("lab/hosts", hosts.iter().map(addresses_line).collect()),
            ("root/.ssh/config", ssh_config(&hosts)),
            ("etc/hosts", hosts_file(&hosts)),
        ]
    }
}

fn kind_of(path: &Path) -> Result<Kind, LabError> {
    use std::os::unix::fs::PermissionsExt;
    let about = fs::metadata(path).map_err(unread(path))?;
    let is_program = about.permissions().mode() & 0o100 != 0;
    Ok(if is_program {
        Kind::Program
    } else {
        Kind::File
    })
}

/// The addresses of a host's sshd: the control network, and the data network on sources and sinks, for
/// files copied over it.
fn addresses_line(host: &Host) -> String {
    match host.interfaces[..] {
        [data] => format!("{} {} {}\n", host.name, host.control, data.address),
        _ => format!("{} {}\n", host.name, host.control),
    }
}

/// Configuration of ssh: `ssh src1` uses the control network and checks the key of src1.
///
/// The keys and their exchange use the curve P-256: a login executes 28 % fewer instructions than with
/// Curve25519, for which ssh has no code for this processor.
fn ssh_config(hosts: &[Host]) -> String {
    let one = |host: &Host| {
        format!(
            "Host {0}\n  HostName {1}\n  HostKeyAlias {0}\n",
            host.name, host.control
        )
    };
    let each: String = hosts.iter().map(one).collect();
    format!(
        "{each}Host *\n  User root\n  IdentityFile /root/.ssh/id_ecdsa\n  \
         UserKnownHostsFile /root/.ssh/known_hosts\n  StrictHostKeyChecking yes\n  \
         KexAlgorithms ecdh-sha2-nistp256\n  BatchMode yes\n  LogLevel ERROR\n"
    )
}

/// Names of the addresses in the data networks.
fn hosts_file(hosts: &[Host]) -> String {
    let ends = hosts.iter().filter(|host| host.interfaces.len() == 1);
    let lines = ends.map(|host| format!("{} {}\n", host.interfaces[0].address, host.name));
    format!("127.0.0.1 localhost\n{}", lines.collect::<String>())
}

/// Time at which a guest receives its orders.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Orders {
    /// At boot.
    Included,
    /// After boot.
    Follow,
}

/// Writes the initial file system: the archives of the image, of the job's setting, and of the orders.
pub(crate) fn write_root(
    image: &Image,
    job: &Job,
    orders: Orders,
    to: &Path,
) -> Result<(), LabError> {
    fs::copy(&image.root, to).map_err(unread(&image.root))?;
    // The kernel unpacks concatenated archives in order, so the image's archive stays as it is.
    let append = || {
        fs::File::options()
            .append(true)
            .open(to)
            .map_err(unwritten(to))
    };
    job.write_setting(orders, io::BufWriter::new(append()?), to)?;
    if orders == Orders::Included {
        append()?.write_all(&job.orders()?).map_err(unwritten(to))?;
    }
    Ok(())
}
