//! The answers of the server, in the words of S3.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// An answer before it is written.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) content: Vec<u8>,
}

impl Answer {
    pub(super) fn of(status: u16, content: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            content: content.into(),
        }
    }

    pub(super) fn error(status: u16, code: &str) -> Self {
        Self::of(
            status,
            format!("<Error><Code>{code}</Code><Message>test of {code}</Message></Error>"),
        )
    }

    pub(super) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// The answer to a request for an object.
pub(super) fn content(
    object: &[u8],
    range: Option<(usize, usize)>,
    if_match: Option<&str>,
) -> Answer {
    let tag = tag(object);
    if if_match.is_some_and(|wanted| wanted != tag) {
        return Answer::error(412, "PreconditionFailed");
    }
    let answer = match range {
        Some((first, _)) if first >= object.len() => {
            return Answer::error(416, "InvalidRange");
        }
        Some((first, last)) => {
            let last = last.min(object.len() - 1);
            Answer::of(206, &object[first..=last]).header(
                "Content-Range",
                format!("bytes {first}-{last}/{}", object.len()),
            )
        }
        None => Answer::of(200, object),
    };
    answer
        .header("ETag", tag)
        .header("Last-Modified", "Sat, 31 Jan 2026 10:00:00 GMT")
}

/// The objects of a bucket whose keys start with `prefix`. With a delimiter, folders below it are
/// listed as such.
pub(super) fn list(
    objects: &BTreeMap<String, Vec<u8>>,
    bucket: &str,
    prefix: &str,
    has_delimiter: bool,
) -> Answer {
    let prefix = prefix.replace("%2F", "/");
    let bucket = format!("{}/", bucket.trim_end_matches('/'));
    let mut text = String::from("<ListBucketResult>");
    let mut folders = Vec::new();
    for (path, object) in objects {
        let Some(key) = path.strip_prefix(&bucket) else {
            continue;
        };
        let Some(rest) = key.strip_prefix(&prefix) else {
            continue;
        };
        match rest.split_once('/').filter(|_| has_delimiter) {
            Some((folder, _)) => folders.push(format!("{prefix}{folder}/")),
            None => {
                write!(
                    text,
                    "<Contents><Key>{key}</Key><Size>{}</Size><ETag>{}</ETag>\
                     <LastModified>2026-01-31T10:00:00.000Z</LastModified></Contents>",
                    object.len(),
                    tag(object)
                )
                .unwrap();
            }
        }
    }
    folders.dedup();
    for folder in folders {
        write!(
            text,
            "<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>"
        )
        .unwrap();
    }
    Answer::of(200, text + "</ListBucketResult>")
}

/// FNV-1a of the content, as an `ETag`.
pub(super) fn tag(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("\"{hash:016x}\"")
}
