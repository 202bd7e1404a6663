//! The files of a recording as they were when they were opened.

use std::path::Path;
#[cfg(feature = "tables")]
use std::path::PathBuf;

use super::Recording;
use crate::Error;
use crate::stored::Stored;

impl Recording {
    /// The file as it was when it was opened; `None` unless the capture is one file with a name.
    pub(crate) const fn stored_file(&self) -> Option<Stored> {
        self.stored
    }

    /// The files of the capture, as they were when they were opened.
    fn stored(&self) -> impl Iterator<Item = (&Path, &Stored)> {
        let own = self.stored.iter().map(|stored| (self.name(), stored));
        // Of files whose times overlap, there is only a merged copy, but their checksums are of these files.
        let files = self.set().into_iter().flat_map(|set| &set.files);
        let of_set = files.filter_map(|file| Some((file.path.as_path(), file.stored.as_ref()?)));
        own.chain(of_set)
    }

    /// Returns an error if passes may have read different bytes.
    pub(super) fn require_same_files(&self) -> Result<(), Error> {
        let is_held = self.source.is_held();
        self.stored()
            .try_for_each(|(path, stored)| stored.require_same(path, is_held))
    }

    /// The files to which another program has appended bytes since they were opened, and how many. No pass
    /// reads these bytes.
    #[cfg(feature = "tables")]
    pub(crate) fn grown(&self) -> Vec<(PathBuf, u64)> {
        let grown = self.stored().filter_map(|(path, stored)| {
            let bytes = stored.grown_bytes(path);
            (bytes > 0).then(|| (path.to_owned(), bytes))
        });
        grown.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, OpenOptions};
    use std::io::Write;

    use tcpexp_wire::Tunnels;

    use super::*;

    /// The header of a pcap file of Ethernet frames, and records of four bytes.
    fn pcap(records: usize) -> Vec<u8> {
        let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
        bytes.extend([0; 8]);
        bytes.extend([0, 0, 4, 0, 1, 0, 0, 0]);
        for record in 0..records {
            bytes.extend([u8::try_from(record).unwrap(), 0, 0, 0x60]);
            bytes.extend([0, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4]);
        }
        bytes
    }

    fn records(recording: &Recording) -> usize {
        let mut records = 0;
        recording.each_record(|_| records += 1).unwrap();
        records
    }

    fn append(path: &Path, bytes: &[u8]) {
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(bytes).unwrap();
    }

    #[test]
    fn all_passes_over_a_file_that_grows_read_what_it_had_at_first() {
        type Opened = fn(&Path) -> Recording;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cap");
        let ways: [Opened; 4] = [
            |path| Recording::open(path).unwrap(),
            |path| Recording::open(path).unwrap().streamed(),
            |path| {
                Recording::reopened(path.to_owned(), &tcpexp_store::StoreOptions::default())
                    .unwrap()
            },
            // A set of one file.
            |path| Recording::open(path.parent().unwrap()).unwrap(),
        ];
        for (way, open) in ways.into_iter().enumerate() {
            std::fs::write(&path, pcap(3)).unwrap();
            let recording = open(&path);
            assert_eq!(records(&recording), 3, "{way}");
            append(&path, &pcap(4)[24..]);
            assert_eq!(records(&recording), 3, "{way}");
            assert_eq!(recording.grown(), [(path.clone(), 4 * 20)], "{way}");
            recording.require_whole_passes().unwrap();
            assert!(recording.walk(Tunnels::Closed).is_ok());
        }
    }

    #[test]
    fn a_file_that_is_written_anew_during_a_measurement_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cap");
        let after = |is_streamed: bool, change: &dyn Fn()| {
            std::fs::write(&path, pcap(3)).unwrap();
            let recording = Recording::open(&path).unwrap();
            let recording = if is_streamed {
                recording.streamed()
            } else {
                recording
            };
            change();
            recording
                .require_whole_passes()
                .map_err(|error| error.to_string())
        };
        let rewrite = || {
            std::fs::write(&path, pcap(3)).unwrap();
            let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
            File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_modified(later)
                .unwrap();
        };
        let shorten = || std::fs::write(&path, pcap(2)).unwrap();
        let replace = || {
            let other = folder.path().join("other");
            std::fs::write(&other, pcap(3)).unwrap();
            std::fs::rename(other, &path).unwrap();
        };
        for is_streamed in [false, true] {
            assert_eq!(after(is_streamed, &|| ()), Ok(()));
            for change in [&rewrite as &dyn Fn(), &shorten] {
                let error = after(is_streamed, change).unwrap_err();
                assert!(error.ends_with("changed while it was read"), "{error}");
            }
        }
        // A mapped file stays what it was when another one takes its name.
        assert_eq!(after(false, &replace), Ok(()));
        assert!(after(true, &replace).is_err());
    }
}
