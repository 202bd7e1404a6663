//! Captures and tables in object stores.
//!
//! [`Object::open`] reads the start of an object, and [`Object::reader`] reads it from front to back
//! as often as needed: by ranges that are requested ahead, in bounded memory, without a local copy.
//! All ranges are of one version of the object. [`Upload`] writes an object that appears whole or not
//! at all. Both block; the requests run on threads of their own.
//!
//! ```no_run
//! use std::io::Read;
//!
//! use tcpexp_store::{Object, StoreOptions};
//!
//! let object = Object::open("s3://captures/src.pcap", &StoreOptions::default())?;
//! let mut start = [0; 24];
//! object.reader().read_exact(&mut start)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! URLs are `s3://BUCKET/KEY`, `gs://BUCKET/KEY`, `az://CONTAINER/BLOB`, and `http://` or `https://` of
//! any server that serves ranges. Credentials are those that the tools of the providers find, see
//! [`StoreOptions`].
//!
//! # Features
//!
//! - `stores`: the clients of the stores. Without it, each URL is [`Error::NotBuilt`].

#[cfg(feature = "stores")]
mod aws;
#[cfg(feature = "stores")]
mod connect;
mod error;
#[cfg(feature = "stores")]
mod folder;
#[cfg(feature = "stores")]
mod object;
mod options;
#[cfg(feature = "stores")]
mod process;
#[cfg(feature = "stores")]
mod reader;
#[cfg(feature = "stores")]
mod runtime;
#[cfg(feature = "stores")]
mod upload;
#[cfg(feature = "stores")]
mod version;
#[cfg(not(feature = "stores"))]
mod without;

pub use error::Error;
#[cfg(feature = "stores")]
pub use folder::Folder;
#[cfg(feature = "stores")]
pub use object::Object;
pub use options::{StoreOption, StoreOptions};
#[cfg(feature = "stores")]
pub use reader::ObjectReader;
#[cfg(feature = "stores")]
pub use upload::Upload;
#[cfg(not(feature = "stores"))]
pub use without::{Folder, Object, ObjectReader, Upload};

use std::borrow::Cow;
use std::path::Path;

/// An object of a [`Folder`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its key below that of the folder.
    pub name: String,
    /// Length in bytes.
    pub bytes: u64,
}

/// The `ETag` of an object, which differs between two contents of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag(String);

#[cfg(feature = "stores")]
impl Tag {
    /// Without quotes: Azure sends them with an object, and not in a list.
    pub(crate) fn of(text: &str) -> Self {
        Self(text.trim_matches('"').to_owned())
    }
}

/// What URLs of objects start with.
const SCHEMES: [&str; 5] = ["s3://", "gs://", "az://", "http://", "https://"];

/// Returns the URL if `path` is one of an object, and not the path of a file.
pub fn as_url(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    let is_url = SCHEMES.iter().any(|scheme| text.starts_with(scheme));
    is_url.then_some(text)
}

/// The text of a path or URL in messages and results: that of a web server is without its query and its
/// user information, which may be a signature and a password.
pub fn shown_url(place: &Path) -> Cow<'_, str> {
    let text = place.to_string_lossy();
    let Some((scheme @ ("http" | "https"), place)) = text.split_once("://") else {
        return text;
    };
    let (host, path) = place.split_at(place.find('/').unwrap_or(place.len()));
    let [host, path] = [host.rsplit('@').next(), Some(path)].map(|part| {
        let part = part.unwrap_or_default();
        part.split(['?', '#']).next().unwrap_or_default()
    });
    format!("{scheme}://{host}{path}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_urls_have_no_secrets() {
        for (place, shown) in [
            ("https://h/a.pcap?X-Amz-Signature=1", "https://h/a.pcap"),
            ("http://user:p@ss@h:80/a@b/k#token", "http://h:80/a@b/k"),
            ("http://user:pass@h?sig", "http://h"),
            // A key may have these characters, and a pattern has the first.
            ("s3://b/a?.pcap#1", "s3://b/a?.pcap#1"),
            ("a/b?c@d.pcap", "a/b?c@d.pcap"),
        ] {
            assert_eq!(shown_url(Path::new(place)), shown);
        }
    }

    #[test]
    fn a_path_is_a_url_only_with_the_scheme_of_a_store() {
        for url in [
            "s3://b/k",
            "gs://b/k",
            "az://c/b",
            "http://h/f",
            "https://h/f",
        ] {
            assert_eq!(as_url(Path::new(url)), Some(url));
        }
        for path in ["src.pcap", "s3:/b/k", "ftp://h/f", "./s3://b/k", "-"] {
            assert_eq!(as_url(Path::new(path)), None);
        }
    }
}
