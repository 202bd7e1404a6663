//! Reads kernel files: their release, and the kernel decompressed.
//!
//! A kernel file decompresses itself at boot, which takes a software CPU longer than the rest of the boot.
//! QEMU also boots the decompressed kernel if it has a PVH entry point. The position of the payload is
//! described in the kernel's `Documentation/arch/x86/boot.rst`.

use std::io::{self, Read, Write};
use std::process::{Command, Stdio};
use std::thread;

use crate::programs::XZ;

/// The note with the PVH entry point: `XEN_ELFNOTE_PHYS32_ENTRY`.
const PVH_ENTRY: u8 = 18;

/// The decompressed kernel of `file`, if it has a PVH entry point.
///
/// `None` is no error: QEMU boots the file itself too.
pub(crate) fn unwrapped(file: &[u8]) -> Option<Vec<u8>> {
    let kernel = unpacked(payload(file)?).ok()?;
    (kernel.starts_with(b"\x7fELF") && has_pvh_entry(&kernel)).then_some(kernel)
}

/// The release of a kernel file, as `uname -r` prints it. `None` for an uncompressed kernel.
pub(crate) fn release(file: &[u8]) -> Option<String> {
    const TEXT: usize = 0x20e;
    let [low, high] = *header(file)?.get(TEXT..)?.first_chunk()?;
    // The offset does not count the boot sector.
    let text = file.get(usize::from(u16::from_le_bytes([low, high])) + 0x200..)?;
    // The builder and the date follow the release.
    let end = text.iter().position(|byte| matches!(byte, 0 | b' '))?;
    let release = std::str::from_utf8(text.get(..end)?).ok()?;
    (!release.is_empty()).then(|| release.to_owned())
}

/// `file` if it begins with the header of a kernel for x86.
fn header(file: &[u8]) -> Option<&[u8]> {
    const MAGIC: usize = 0x202;
    (file.get(MAGIC..MAGIC + 4)? == b"HdrS").then_some(file)
}

/// The compressed payload, without the size that the linker appends.
fn payload(file: &[u8]) -> Option<&[u8]> {
    const SETUP_SECTORS: usize = 0x1f1;
    const PAYLOAD_OFFSET: usize = 0x248;
    const PAYLOAD_LENGTH: usize = 0x24c;
    let file = header(file)?;
    let number = |at: usize| {
        let bytes = file.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    };
    // The boot sector comes before the setup sectors and is not counted among them.
    let protected_mode = (usize::from(*file.get(SETUP_SECTORS)?) + 1) * 512;
    let begin = protected_mode.checked_add(number(PAYLOAD_OFFSET)?)?;
    let end = begin.checked_add(number(PAYLOAD_LENGTH)?)?.checked_sub(4)?;
    file.get(begin..end)
}

fn unpacked(payload: &[u8]) -> io::Result<Vec<u8>> {
    if payload.starts_with(b"\xfd7zXZ\0") {
        through(Command::new(XZ.name).args(["-dc"]), payload)
    } else if payload.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        zstd::decode_all(payload)
    } else {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The output of a program for the input `bytes`.
fn through(command: &mut Command, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut program = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (input, output) = (program.stdin.take(), program.stdout.take());
    let mut result = Vec::new();
    let (written, read) = thread::scope(|scope| {
        // xz writes before it has read all its input: two full pipes would block both processes.
        let writer = scope.spawn(move || input.map_or(Ok(()), |mut input| input.write_all(bytes)));
        let read = output.map_or(Ok(0), |mut output| output.read_to_end(&mut result));
        (writer.join(), read)
    });
    read?;
    let failed = || io::Error::other("it could not be unpacked");
    written.map_err(|_| failed())??;
    if program.wait()?.success() {
        Ok(result)
    } else {
        Err(failed())
    }
}

/// True if a kernel has the Xen note with the PVH entry point.
fn has_pvh_entry(kernel: &[u8]) -> bool {
    // Length of the name, of the content (which has 4 or 8 bytes), type, name.
    [4_u8, 8].into_iter().any(|content| {
        let note = [
            4, 0, 0, 0, content, 0, 0, 0, PVH_ENTRY, 0, 0, 0, b'X', b'e', b'n', 0,
        ];
        kernel.windows(note.len()).any(|window| window == note)
    })
}

/// A kernel file of a release, without a kernel.
#[cfg(test)]
pub(crate) fn image_of_release(release: &str) -> Vec<u8> {
    let mut file = vec![0; 0x300];
    file[0x202..0x206].copy_from_slice(b"HdrS");
    file[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
    file.extend(format!("{release} (me@here) #1 SMP").bytes());
    file.push(0);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel file with the compressed `payload`.
    fn wrapped(payload: &[u8]) -> Vec<u8> {
        let mut file = vec![0; 0x400];
        file[0x1f1] = 1;
        file[0x202..0x206].copy_from_slice(b"HdrS");
        let length = u32::try_from(payload.len() + 4).unwrap();
        file[0x24c..0x250].copy_from_slice(&length.to_le_bytes());
        file.extend(payload);
        file.extend([0; 4]);
        file
    }

    const KERNEL: &[u8] = b"\x7fELF \x04\0\0\0\x08\0\0\0\x12\0\0\0Xen\0";

    #[test]
    fn kernel_file_names_its_release() {
        let file = image_of_release("7.2.12+deb14-amd64");
        assert_eq!(release(&file).unwrap(), "7.2.12+deb14-amd64");
        assert_eq!(release(&file[..0x300]), None);
        assert_eq!(release(&wrapped(KERNEL)), None);
        assert_eq!(release(KERNEL), None);
    }

    #[test]
    fn compressed_kernel_with_an_entry_point_is_unpacked() {
        let packed = zstd::encode_all(KERNEL, 1).unwrap();
        assert_eq!(unwrapped(&wrapped(&packed)).unwrap(), KERNEL);
    }

    #[test]
    fn kernel_without_a_known_entry_point_stays_packed() {
        let packed = zstd::encode_all(&KERNEL[..20], 1).unwrap();
        assert_eq!(unwrapped(&wrapped(&packed)), None);
        assert_eq!(unwrapped(&wrapped(b"packed in an unknown way")), None);
        assert_eq!(unwrapped(b"no kernel"), None);
    }
}
