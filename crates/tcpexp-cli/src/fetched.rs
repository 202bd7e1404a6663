//! Inputs in object stores other than captures, copied to a temporary directory.
//!
//! Tables, logs and surveys are small beside captures, and their readers take files and directories.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tcpexp::{StoreOption, StoreOptions};
use tcpexp_store::{Error as StoreError, Folder, Object, as_url};

use crate::output::TemporaryDir;
use crate::store_options::of_this_run;

thread_local! {
    /// The copies of a run.
    static COPIES: RefCell<Option<TemporaryDir>> = const { RefCell::new(None) };
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
        Some(copies.path().display().to_string())
    });
    let Some(folder) = folder else {
        return text.to_owned();
    };
    let mut given = text.to_owned();
    for scheme in ["s3", "gs", "az", "http", "https"] {
        given = given.replace(&format!("{folder}/{scheme}/"), &format!("{scheme}://"));
    }
    given
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
    let cannot = || format!("cannot read {url}");
    let object = Object::open(url, &options).with_context(cannot)?;
    copy(&object, place).with_context(cannot)
}

fn copied(path: &Path, files: Files) -> anyhow::Result<PathBuf> {
    let Some(url) = as_url(path) else {
        return Ok(path.to_owned());
    };
    let cannot = || format!("cannot read {}", path.display());
    // The name is that of the URL, without the query, which may be a signature.
    let named = url.split('?').next().unwrap_or(url).trim_end_matches('/');
    let place = folder()?.join(named.replacen("://", "/", 1));
    let options = of_this_run();
    if !url.ends_with('/') {
        match Object::open(url, &options) {
            Ok(object) => {
                copy(&object, &place).with_context(cannot)?;
                return Ok(place);
            }
            Err(StoreError::NotFound) => {}
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

/// The directory of the copies of this run.
fn folder() -> anyhow::Result<PathBuf> {
    if let Some(folder) = COPIES.with_borrow(|copies| {
        let copies = copies.as_ref()?;
        Some(copies.path().to_owned())
    }) {
        return Ok(folder);
    }
    let place = std::env::temp_dir();
    let folder = TemporaryDir::make(&place, 0o700)
        .with_context(|| format!("cannot write {}", place.display()))?;
    let path = folder.path().to_owned();
    COPIES.set(Some(folder));
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

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
