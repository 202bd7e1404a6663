//! Inputs in object stores other than captures, copied to a temporary directory.
//!
//! Tables, logs and surveys are small beside captures, and their readers take files and directories.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use tcpexp::{StoreOption, StoreOptions};
use tcpexp_store::{Error as StoreError, Folder, Object, as_url, shown_url};

use crate::store_options::of_this_run;
use crate::temporary::TemporaryDir;

thread_local! {
    /// The copies of a run.
    static COPIES: RefCell<Option<Copies>> = const { RefCell::new(None) };
}

/// The copies of a run: `FOLDER/NUMBER/http/HOST/PATH`, in which the number is 0 except for URLs that
/// an earlier one equals up to its query.
struct Copies {
    folder: TemporaryDir,
    /// The URLs of each place below a number, which is the index of the URL.
    urls: BTreeMap<PathBuf, Vec<String>>,
}

/// Removes the copies of the run on this thread when it is dropped.
pub(crate) struct OfThisRun;

impl Drop for OfThisRun {
    fn drop(&mut self) {
        drop(COPIES.take());
    }
}

/// What is copied from a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Files {
    All,
    /// All files except captures, because readers of results do not read captures.
    AllButCaptures,
}

/// The path on disk of a file, a dataset or a sweep with its datasets: a copy, if it is in a store.
pub(crate) fn local(path: &Path) -> anyhow::Result<PathBuf> {
    copied(path, Files::AllButCaptures)
}

/// Like [`local`], but also copies the captures in a folder.
pub(crate) fn local_with_captures(path: &Path) -> anyhow::Result<PathBuf> {
    copied(path, Files::All)
}

/// The path on disk of each input.
pub(crate) fn all_local(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    paths.iter().map(|path| local(path)).collect()
}

/// A path as the user named it: the URL of a copy.
pub(crate) fn as_given(path: &Path) -> PathBuf {
    let text = path.to_string_lossy();
    match in_text(&text) {
        given if given == text => path.to_owned(),
        given => given.into(),
    }
}

/// A text with the URLs of copies in place of their paths.
pub(crate) fn in_text(text: &str) -> String {
    let folder = COPIES.with_borrow(|copies| {
        let copies = copies.as_ref()?;
        let numbers = copies.urls.values().map(Vec::len).max().unwrap_or(0);
        Some((copies.folder.path().display().to_string(), numbers))
    });
    let Some((folder, numbers)) = folder else {
        return text.to_owned();
    };
    let mut given = text.to_owned();
    for number in 0..numbers {
        for scheme in ["s3", "gs", "az", "http", "https"] {
            let copy = format!("{folder}/{number}/{scheme}/");
            given = given.replace(&copy, &format!("{scheme}://"));
        }
    }
    given
}

/// An error with the URLs of copies in place of their paths.
pub(crate) fn in_error(error: anyhow::Error) -> anyhow::Error {
    let causes: Vec<_> = error.chain().collect();
    let names_copy = |cause: &&(dyn Error + 'static)| {
        let text = cause.to_string();
        in_text(&text) != text
    };
    // Other errors keep their types, which choose the exit code.
    if !causes.iter().any(names_copy) {
        return error;
    }
    let renamed = causes.iter().rev().fold(None, |source, cause| {
        let of_system = cause.downcast_ref::<io::Error>();
        Some(match of_system.and_then(io::Error::raw_os_error) {
            // Python makes its exception from the code.
            Some(code) => io::Error::from_raw_os_error(code).into(),
            None => Box::new(Renamed {
                text: in_text(&cause.to_string()),
                source,
            }) as Cause,
        })
    });
    renamed.map_or(error, |renamed| anyhow!(renamed))
}

type Cause = Box<dyn Error + Send + Sync>;

/// An error or a cause of one, with other names of files.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct Renamed {
    text: String,
    source: Option<Cause>,
}

/// Copies the object at `url` to a file. `stores` are the options of object stores.
///
/// # Errors
///
/// Fails if the object cannot be read, or the file not written.
pub fn fetch(
    url: &str,
    stores: impl IntoIterator<Item = StoreOption>,
    place: &Path,
) -> anyhow::Result<()> {
    let options: StoreOptions = stores.into_iter().collect();
    let cannot = || format!("cannot read {}", shown_url(url.as_ref()));
    let object = Object::open(url, &options).with_context(cannot)?;
    copy(&object, place).with_context(cannot)
}

fn copied(path: &Path, files: Files) -> anyhow::Result<PathBuf> {
    let Some(url) = as_url(path) else {
        return Ok(path.to_owned());
    };
    let cannot = || format!("cannot read {}", shown_url(path));
    let place = place_of(url)?;
    let options = of_this_run();
    if !url.ends_with('/') {
        match Object::open(url, &options) {
            Ok(object) => {
                copy(&object, &place).with_context(cannot)?;
                return Ok(place);
            }
            // Web servers have no folders, except those of WebDAV, whose URLs end with a slash.
            Err(StoreError::NotFound) if !url.starts_with("http") => {}
            Err(error) => return Err(error).with_context(cannot),
        }
    }
    let store = Folder::at(url, &options).with_context(cannot)?;
    let mut objects = store.all().with_context(cannot)?;
    objects.retain(|object| files == Files::All || !is_capture(&object.name));
    if objects.is_empty() {
        return Err(StoreError::NotFound).with_context(cannot);
    }
    for object in &objects {
        let cannot = || format!("cannot read {}", store.url(&object.name));
        let opened = store.open(&object.name).with_context(cannot)?;
        copy(&opened, &place.join(&object.name)).with_context(cannot)?;
    }
    Ok(place)
}

fn copy(object: &Object, place: &Path) -> io::Result<()> {
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder)?;
    }
    io::copy(&mut object.reader(), &mut File::create(place)?)?;
    Ok(())
}

/// True for `src.pcap`, `src.pcapng.gz` and `src.pcap3`.
fn is_capture(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    [".pcap", ".cap"].iter().any(|ending| file.contains(ending))
}

/// The place of the copy of what is at `url`. Its name is that of [`shown_url`].
fn place_of(url: &str) -> anyhow::Result<PathBuf> {
    COPIES.with_borrow_mut(|copies| {
        let copies = match copies {
            Some(copies) => copies,
            None => copies.insert(Copies::new()?),
        };
        Ok(copies.place_of(url))
    })
}

impl Copies {
    fn new() -> anyhow::Result<Self> {
        let place = std::env::temp_dir();
        let folder = TemporaryDir::make(&place, 0o700)
            .with_context(|| format!("cannot write {}", place.display()))?;
        Ok(Self {
            folder,
            urls: BTreeMap::new(),
        })
    }

    fn place_of(&mut self, url: &str) -> PathBuf {
        let named = shown_url(url.as_ref());
        let named = named.trim_end_matches('/');
        let named = PathBuf::from(named.replacen("://", "/", 1));
        let urls = self.urls.entry(named.clone()).or_default();
        let number = urls.iter().position(|known| known == url);
        let number = number.unwrap_or_else(|| {
            urls.push(url.to_owned());
            urls.len() - 1
        });
        self.folder.path().join(number.to_string()).join(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_that_differ_in_the_query_have_copies_of_their_own() {
        let _copies = OfThisRun;
        let urls = [
            "http://h/q/a.csv?f=x",
            "http://me:pass@h/q/a.csv?f=y",
            "s3://h/b?",
        ];
        let [x, y, other] = urls.map(|url| place_of(url).unwrap());
        assert_ne!(x, y);
        assert_eq!(place_of(urls[0]).unwrap(), x);
        for (copy, name) in [
            (x, "http://h/q/a.csv"),
            (y, "http://h/q/a.csv"),
            (other, "s3://h/b?"),
        ] {
            assert_eq!(as_given(&copy), Path::new(name));
        }
    }

    #[test]
    fn captures_are_recognised_by_their_endings() {
        for name in ["a/src.pcap", "src.pcapng.gz", "a.pcap3", "x.cap"] {
            assert!(is_capture(name), "{name}");
        }
        for name in ["rtt.parquet", "a.pcap/run.json", "plan.toml"] {
            assert!(!is_capture(name), "{name}");
        }
    }
}
