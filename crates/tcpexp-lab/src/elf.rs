//! Removes debugging information from programs.
//!
//! An unoptimised build of `tcpexp` has a third of a gigabyte of debugging information, which a
//! guest would have to unpack into its memory. A kernel and the dynamic linker read only a
//! program's segments (System V ABI, chapter 5), and the debugging information follows the last
//! segment.

/// Offsets in the header of a 64-bit file (System V ABI, figure 4-3).
const SEGMENTS_AT: usize = 32;
const SECTIONS_AT: usize = 40;
const SEGMENT_SIZE: usize = 54;
const SEGMENT_COUNT: usize = 56;
const SECTION_COUNT: usize = 60;
const SECTION_NAMES: usize = 62;
const HEADER_BYTES: usize = 64;

/// Returns the bytes of a program up to the end of its last segment, with no sections in its
/// header.
///
/// Other files than 64-bit little-endian ELF, such as scripts, are returned unchanged.
pub(crate) fn without_sections(file: &[u8]) -> Vec<u8> {
    let Some(end) = end_of_segments(file) else {
        return file.to_vec();
    };
    let mut program = file[..end].to_vec();
    program[SECTIONS_AT..SECTIONS_AT + 8].fill(0);
    program[SECTION_COUNT..SECTION_COUNT + 2].fill(0);
    program[SECTION_NAMES..SECTION_NAMES + 2].fill(0);
    program
}

fn end_of_segments(file: &[u8]) -> Option<usize> {
    // 64 bits, little-endian.
    if !file.starts_with(b"\x7fELF\x02\x01") || file.len() < HEADER_BYTES {
        return None;
    }
    let table = usize::try_from(number(file, SEGMENTS_AT, 8)?).ok()?;
    let size = usize::try_from(number(file, SEGMENT_SIZE, 2)?).ok()?;
    let count = usize::try_from(number(file, SEGMENT_COUNT, 2)?).ok()?;
    // The kernel and the dynamic linker read the table itself too.
    let mut end = table.checked_add(size.checked_mul(count)?)?;
    for segment in 0..count {
        // A segment's header has the segment's offset in the file at 8 and its length in the file
        // at 32.
        // No overflow: the end of the whole table was checked above.
        let header = table + segment * size;
        let offset = number(file, header + 8, 8)?;
        let bytes = number(file, header + 32, 8)?;
        end = end.max(usize::try_from(offset.checked_add(bytes)?).ok()?);
    }
    (HEADER_BYTES..=file.len()).contains(&end).then_some(end)
}

fn number(file: &[u8], at: usize, bytes: usize) -> Option<u64> {
    let field = file.get(at..at.checked_add(bytes)?)?;
    Some(
        field
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte)),
    )
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn program_runs_without_its_section_table() {
        // This test itself is a program with debugging information.
        let whole = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let bare = without_sections(&whole);
        assert!(
            bare.len() < whole.len() * 3 / 4,
            "{} of {}",
            bare.len(),
            whole.len()
        );
        let folder = tempfile::tempdir().unwrap();
        let bytes = folder.path().join("bytes");
        std::fs::write(&bytes, bare).unwrap();
        make_executable(&bytes);
        // A file that is open for writing cannot be executed, and a process that another test
        // starts at the same time would inherit our open file. So another process writes the file.
        let path = folder.path().join("program");
        assert!(
            Command::new("cp")
                .args([&bytes, &path])
                .status()
                .unwrap()
                .success()
        );
        let output = Command::new(&path).arg("--list").output().unwrap();
        let listed = String::from_utf8(output.stdout).unwrap();
        assert!(
            listed.contains("program_runs_without_its_section_table"),
            "{listed}"
        );
    }

    fn make_executable(path: &std::path::Path) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn script_is_unchanged() {
        assert_eq!(without_sections(b"#!/bin/sh\n"), b"#!/bin/sh\n");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(header: Vec<u8>) {
            let mut file = b"\x7fELF\x02\x01".to_vec();
            file.extend(header);
            let program = without_sections(&file);
            prop_assert!(program.len() <= file.len());
        }
    }
}
