//! Checksums of input files.

use std::fmt::Write;
use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// Returns the length and the SHA-256 of `input`.
pub(crate) fn of(mut input: impl Read) -> io::Result<(u64, String)> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 17];
    let mut bytes = 0;
    loop {
        match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                hash.update(&buffer[..read]);
                bytes += read as u64;
            }
            // A signal may interrupt a read before its first byte: the read is repeated.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let mut hex = String::new();
    for byte in hash.finalize() {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    Ok((bytes, hex))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_matches_sha256sum() {
        // FIPS 180-4, example B.1.
        let (bytes, hex) = of("abc".as_bytes()).unwrap();
        assert_eq!(bytes, 3);
        assert_eq!(
            hex,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
