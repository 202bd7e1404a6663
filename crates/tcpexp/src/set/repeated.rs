//! Refuses files of a set with the same records, which would count twice.

use super::Scan;
use crate::{Error, Recording};

/// Returns an error if two files have the same records: one file under two names, or a copy, which may be
/// compressed. The files are in the order of their first times.
///
/// Only files with equal scans are read again, so a set without copies costs no further pass.
pub(super) fn refuse(scanned: &[(Recording, Scan)]) -> Result<(), Error> {
    for (place, (one, scan)) in scanned.iter().enumerate() {
        let later = scanned[place + 1..].iter();
        let at_one_time = later.take_while(|(_, other)| other.start() == scan.start());
        for (other, _) in at_one_time.filter(|(_, other)| other == scan) {
            if one.name() == other.name() || have_same_records(one, other)? {
                return Err(Error::Repeated {
                    path: one.name().to_owned(),
                    other: other.name().to_owned(),
                });
            }
        }
    }
    Ok(())
}

fn have_same_records(one: &Recording, other: &Recording) -> Result<bool, Error> {
    let (mut one_capture, mut other_capture) = (one.capture()?, other.capture()?);
    let are_same = loop {
        match (one_capture.next_record(), other_capture.next_record()) {
            (Some(a), Some(b)) => {
                let is_same = a.at == b.at
                    && a.wire_bytes == b.wire_bytes
                    && a.link_type == b.link_type
                    && a.captured == b.captured;
                if !is_same {
                    break false;
                }
            }
            (None, None) => break true,
            _ => break false,
        }
    };
    // A store that broke off ends the records early.
    one.require_store()?;
    other.require_store()?;
    Ok(are_same)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tcpexp_capture::PcapngWriter;
    use tcpexp_units::Timestamp;

    use super::*;

    /// Writes a capture of three records with these bytes.
    fn write(path: &Path, byte: u8) -> Vec<u8> {
        let mut writer = PcapngWriter::new(Vec::new()).unwrap();
        for second in [1, 2, 4] {
            let at = Timestamp::from_nanos(second * 1_000_000_000);
            writer.packet(at, 1, 60, &[byte; 60]).unwrap();
        }
        let bytes = writer.into_inner();
        std::fs::write(path, &bytes).unwrap();
        bytes
    }

    /// The error of a list with these names; empty without one.
    fn refusal(folder: &Path, names: &[&str]) -> String {
        let lines = names.iter().map(|name| folder.join(name));
        let lines: Vec<String> = lines.map(|path| path.display().to_string()).collect();
        let list = folder.join("list.txt");
        std::fs::write(&list, lines.join("\n")).unwrap();
        let opened = Recording::open(Path::new(&format!("@{}", list.display())));
        let refusal = opened.err().map(|error| error.to_string());
        let prefix = format!("{}/", folder.display());
        refusal.unwrap_or_default().replace(&prefix, "")
    }

    #[test]
    fn files_with_the_same_records_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let bytes = write(&folder.join("a.pcap"), 1);
        write(&folder.join("b.pcap"), 2);
        std::os::unix::fs::symlink("a.pcap", folder.join("link.pcap")).unwrap();
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        std::io::Write::write_all(&mut packed, &bytes).unwrap();
        std::fs::write(folder.join("a.pcap.gz"), packed.finish().unwrap()).unwrap();
        let twice = |other: &str| {
            format!("a.pcap and {other} have the same records, which would count twice")
        };
        assert_eq!(
            refusal(folder, &["a.pcap", "b.pcap", "a.pcap"]),
            "a.pcap is listed twice"
        );
        assert_eq!(
            refusal(folder, &["a.pcap", "link.pcap"]),
            twice("link.pcap")
        );
        assert_eq!(
            refusal(folder, &["a.pcap", "a.pcap.gz"]),
            twice("a.pcap.gz")
        );
        // Captures of two interfaces may have records at the same times.
        assert_eq!(refusal(folder, &["a.pcap", "b.pcap"]), "");
    }
}
