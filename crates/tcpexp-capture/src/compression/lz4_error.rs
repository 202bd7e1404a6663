//! Errors of LZ4 data as sentences. Those of `lz4_flex` are names of its variants.

use std::io;

use lz4_flex::frame::Error;

/// The error of a read, with its kind. An error of the input stays as it is.
pub(super) fn in_words(error: io::Error) -> io::Error {
    // The decoder has a text of its own for the end of its input.
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return error.kind().into();
    }
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
    match cause {
        Some(cause) => io::Error::new(error.kind(), words(cause)),
        None => error,
    }
}

fn words(error: &Error) -> String {
    match error {
        Error::DecompressionError(_) => "a block cannot be decompressed".to_owned(),
        Error::BlockTooBig => "a block is longer than the header of its frame allows".to_owned(),
        Error::HeaderChecksumError => "the checksum of a frame's header is wrong".to_owned(),
        Error::BlockChecksumError => "the checksum of a block is wrong".to_owned(),
        Error::ContentChecksumError => "the checksum of a frame's content is wrong".to_owned(),
        Error::ContentLengthError { expected, actual } => {
            format!("a frame states {expected} bytes of content, but has {actual}")
        }
        Error::DictionaryNotSupported => "a frame needs a dictionary".to_owned(),
        Error::UnsupportedVersion(version) => {
            format!("the version {version} of a frame is not supported")
        }
        _ => "the header of a frame or block is malformed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use crate::build::lz4;
    use crate::compression::Compression;

    fn error_of(file: &[u8]) -> String {
        let mut decoded = Compression::Lz4.decode(file).unwrap();
        let error = decoded.read_to_end(&mut Vec::new()).unwrap_err();
        error.to_string()
    }

    #[test]
    fn damage_of_lz4_data_is_stated_in_words() {
        let whole = lz4(&[7; 100]);
        let end = std::io::Error::from(std::io::ErrorKind::UnexpectedEof).to_string();
        assert_eq!(error_of(&whole[..whole.len() - 9]), end);
        // The sixth byte is the second of the descriptor; the seventh is the descriptor's checksum.
        let mut changed = whole;
        changed[6] ^= 1;
        assert_eq!(
            error_of(&changed),
            "the checksum of a frame's header is wrong"
        );
    }
}
