//! Writes the archive that a kernel unpacks into its initial file system: cpio, "new ASCII" format.
//!
//! The format is in the kernel's `Documentation/driver-api/early-userspace/buffer-format.rst`.
//! All entries have root as their owner and time zero, so that the same files give the same bytes.

use std::collections::BTreeSet;
use std::io::{self, Write};

/// The type and mode of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A readable file.
    File,
    /// An executable file.
    Program,
    /// A file that only root can read, as ssh requires of keys.
    Secret,
    /// A symbolic link; the content is its target.
    Link,
    /// `/dev/console`, without which the first process has no standard streams.
    Console,
}

/// Writes an archive entry by entry.
pub(crate) struct Archive<W> {
    out: W,
    entries: u32,
    folders: BTreeSet<String>,
}

const FOLDER: u32 = 0o040_755;

impl Kind {
    fn mode(self) -> u32 {
        match self {
            Self::File => 0o100_644,
            Self::Program => 0o100_755,
            Self::Secret => 0o100_600,
            Self::Link => 0o120_777,
            Self::Console => 0o020_600,
        }
    }

    /// Major and minor number of the device.
    fn device(self) -> (u32, u32) {
        match self {
            Self::Console => (5, 1),
            _ => (0, 0),
        }
    }
}

impl<W: Write> Archive<W> {
    pub(crate) fn new(out: W) -> Self {
        Self {
            out,
            entries: 0,
            folders: BTreeSet::new(),
        }
    }

    /// Adds an entry at `path`, which has no leading slash, and the folders above it.
    pub(crate) fn add(&mut self, path: &str, kind: Kind, content: &[u8]) -> io::Result<()> {
        // The kernel unpacks entries in order and creates no folders above them.
        if let Some((above, _)) = path.rsplit_once('/') {
            self.folder(above)?;
        }
        self.entry(path, kind.mode(), kind.device(), content)
    }

    /// Adds a folder and the folders above it, unless they exist.
    pub(crate) fn folder(&mut self, path: &str) -> io::Result<()> {
        let ends = path.match_indices('/').map(|(at, _)| at);
        for end in ends.chain([path.len()]) {
            if self.folders.insert(path[..end].to_owned()) {
                self.entry(&path[..end], FOLDER, (0, 0), &[])?;
            }
        }
        Ok(())
    }

    /// Ends the archive.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.entry("TRAILER!!!", 0, (0, 0), &[])?;
        Ok(self.out)
    }

    fn entry(
        &mut self,
        path: &str,
        mode: u32,
        device: (u32, u32),
        content: &[u8],
    ) -> io::Result<()> {
        self.entries += 1;
        let size = u32::try_from(content.len()).map_err(|_| {
            io::Error::new(
                io::ErrorKind::FileTooLarge,
                "an entry holds less than 4 GiB",
            )
        })?;
        // Inode number, mode, owner, group, links, time, size, device of the file, device that the
        // file represents, length of the name with its zero, checksum (unused).
        let fields = [
            self.entries,
            mode,
            0,
            0,
            1,
            0,
            size,
            0,
            0,
            device.0,
            device.1,
        ];
        write!(self.out, "070701")?;
        for field in fields {
            write!(self.out, "{field:08X}")?;
        }
        write!(self.out, "{:08X}{:08X}{path}\0", path.len() + 1, 0)?;
        // The header has 110 bytes; names and contents end at multiples of four.
        self.pad(110 + path.len() + 1)?;
        self.out.write_all(content)?;
        self.pad(content.len())
    }

    fn pad(&mut self, written: usize) -> io::Result<()> {
        self.out
            .write_all(&[0; 3][..written.next_multiple_of(4) - written])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(entries: &[(&str, Kind, &str)]) -> String {
        let mut archive = Archive::new(Vec::new());
        for (path, kind, content) in entries {
            archive.add(path, *kind, content.as_bytes()).unwrap();
        }
        let bytes = archive.finish().unwrap();
        assert_eq!(bytes.len() % 4, 0);
        String::from_utf8(bytes).unwrap().replace('\0', ".")
    }

    #[test]
    fn folders_appear_once_and_before_their_files() {
        let text = archive(&[
            ("a/b/c", Kind::File, "hello"),
            ("a/b/d", Kind::Program, ""),
            ("bin", Kind::Link, "usr/bin"),
        ]);
        insta::assert_snapshot!(text.replace("070701", "\n070701").trim(), @r"
        07070100000001000041ED0000000000000000000000010000000000000000000000000000000000000000000000000000000200000000a.
        07070100000002000041ED0000000000000000000000010000000000000000000000000000000000000000000000000000000400000000a/b...
        07070100000003000081A40000000000000000000000010000000000000005000000000000000000000000000000000000000600000000a/b/c.hello...
        07070100000004000081ED0000000000000000000000010000000000000000000000000000000000000000000000000000000600000000a/b/d.
        070701000000050000A1FF0000000000000000000000010000000000000007000000000000000000000000000000000000000400000000bin...usr/bin.
        07070100000006000000000000000000000000000000010000000000000000000000000000000000000000000000000000000B00000000TRAILER!!!....
        ");
    }

    #[test]
    fn console_is_a_device_node() {
        let text = archive(&[("dev/console", Kind::Console, "")]);
        assert!(
            text.contains("00000005000000010000000C00000000dev/console"),
            "{text}"
        );
    }
}
