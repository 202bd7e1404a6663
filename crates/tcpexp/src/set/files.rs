//! The files that a path names: a directory, or a pattern in the name of a file.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use tcpexp_store::{Folder, StoreOptions, as_url};

use crate::Error;

/// Files that one path names.
#[derive(Debug)]
pub(crate) struct FoundFiles {
    /// The files in natural order of their names: `a2` before `a10`.
    pub(crate) paths: Vec<PathBuf>,
    /// True if the path is a directory, which may also hold other files.
    pub(crate) is_directory: bool,
}

/// Returns the files that `path` names; `None` if it is a single file.
pub(crate) fn find(path: &Path, stores: &StoreOptions) -> Result<Option<FoundFiles>, Error> {
    if let Some(url) = as_url(path) {
        return in_store(path, url, stores);
    }
    if let Some(list) = path.to_str().and_then(|path| path.strip_prefix('@')) {
        return listed(Path::new(list)).map(Some);
    }
    // Standard input, also where a directory has this name.
    if path == Path::new("-") {
        return Ok(None);
    }
    let named = |source| Error::Open {
        path: path.to_owned(),
        source,
    };
    if path.is_dir() {
        let paths = matching(path, |_| true).map_err(named)?;
        return Ok(Some(FoundFiles {
            paths,
            is_directory: true,
        }));
    }
    let Some(name) = path.file_name().and_then(OsStr::to_str) else {
        return Ok(None);
    };
    // A file whose name has such characters is a file.
    if !name.contains(PATTERN) || path.exists() {
        return Ok(None);
    }
    let folder = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let paths = matching(folder, |file| fits(name, file)).map_err(named)?;
    if paths.is_empty() {
        let no_match = "no file matches this pattern";
        return Err(named(io::Error::new(io::ErrorKind::NotFound, no_match)));
    }
    Ok(Some(FoundFiles {
        paths,
        is_directory: false,
    }))
}

/// The files that a text file lists, one path or URL per line.
fn listed(list: &Path) -> Result<FoundFiles, Error> {
    let text = std::fs::read_to_string(list).map_err(|source| Error::Open {
        path: list.to_owned(),
        source,
    })?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let paths: Vec<PathBuf> = lines.map(PathBuf::from).collect();
    if paths.is_empty() {
        return Err(Error::Nothing {
            path: list.to_owned(),
            why: "no lines with files".to_owned(),
        });
    }
    Ok(FoundFiles {
        paths,
        is_directory: false,
    })
}

/// The objects that a URL names; `None` if it is that of a single object, as all of web servers are,
/// which have no lists.
fn in_store(path: &Path, url: &str, stores: &StoreOptions) -> Result<Option<FoundFiles>, Error> {
    let Some((folder, name)) = url.rsplit_once('/').filter(|_| !url.starts_with("http")) else {
        return Ok(None);
    };
    let is_pattern = name.contains(PATTERN);
    if !name.is_empty() && !is_pattern {
        return Ok(None);
    }
    let failed = |source| Error::Store {
        path: path.to_owned(),
        source,
    };
    let folder = Folder::at(folder, stores).map_err(failed)?;
    let mut names = folder.objects().map_err(failed)?;
    // An object whose key has such characters is an object.
    if is_pattern && names.iter().any(|found| found == name) {
        return Ok(None);
    }
    names.retain(|found| !found.starts_with('.') && (!is_pattern || fits(name, found)));
    if names.is_empty() {
        return Err(failed(tcpexp_store::Error::NotFound));
    }
    names.sort_by(|a, b| natural(a.as_ref(), b.as_ref()));
    let paths = names.iter().map(|name| folder.url(name).into());
    Ok(Some(FoundFiles {
        paths: paths.collect(),
        is_directory: !is_pattern,
    }))
}

/// Characters of patterns.
const PATTERN: [char; 3] = ['*', '?', '['];

/// The files of a folder whose names fit, without hidden ones.
fn matching(folder: &Path, fits: impl Fn(&str) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().map(OsStr::to_string_lossy);
        let is_wanted = name.is_some_and(|name| !name.starts_with('.') && fits(&name));
        if is_wanted && path.is_file() {
            found.push(path);
        }
    }
    found.sort_by(|a, b| natural(a.as_os_str(), b.as_os_str()));
    Ok(found)
}

/// Compares names so that numbers in them are in order: `a2` before `a10`.
pub(crate) fn natural(a: &OsStr, b: &OsStr) -> Ordering {
    tcpexp_units::natural(&a.to_string_lossy(), &b.to_string_lossy()).then_with(|| a.cmp(b))
}

/// True if `name` fits a pattern of a shell: `*`, `?` and `[a-z]`.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut place) = (0, 0);
    // Where to continue if the text after the last `*` does not fit.
    let mut retry = None;
    loop {
        if pattern.get(at) == Some(&'*') {
            at += 1;
            retry = Some((at, place));
        } else if place == name.len() && at == pattern.len() {
            return true;
        } else if let (Some(next), Some(&c)) = (pattern.get(at), name.get(place))
            && let Some(width) = one(&pattern[at..], *next, c)
        {
            at += width;
            place += 1;
        } else if let Some((after, from)) = retry
            && from < name.len()
        {
            retry = Some((after, from + 1));
            (at, place) = (after, from + 1);
        } else {
            return false;
        }
    }
}

/// Length of the part of the pattern that stands for the character `c`; `None` if it does not.
fn one(pattern: &[char], next: char, c: char) -> Option<usize> {
    match next {
        '?' => Some(1),
        '[' => {
            let end = pattern.iter().skip(2).position(|&c| c == ']')? + 2;
            let set = &pattern[1..end];
            let (is_negated, set) = match set {
                ['!' | '^', rest @ ..] => (true, rest),
                set => (false, set),
            };
            let is_range = |at: usize| set.get(at + 1) == Some(&'-') && at + 2 < set.len();
            let mut at = 0;
            let mut is_in = false;
            while at < set.len() {
                if is_range(at) {
                    is_in |= (set[at]..=set[at + 2]).contains(&c);
                    at += 3;
                } else {
                    is_in |= set[at] == c;
                    at += 1;
                }
            }
            (is_in != is_negated).then_some(end + 1)
        }
        other => (other == c).then_some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_a_shell() {
        for (pattern, name) in [
            ("*", "a"),
            ("*.pcap*", "a.pcap12"),
            ("a?c", "abc"),
            ("*a*b*", "xxaxxaxb"),
            ("cap[0-9]", "cap7"),
            ("cap[!0-9]", "capx"),
            ("[]x]", "]"),
            ("a[b-]", "a-"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("a", "ab"),
            ("*.pcap", "a.pcapng"),
            ("a?c", "ac"),
            ("cap[0-9]", "cap"),
            ("cap[0-9]", "capx"),
            ("[", "a"),
            ("", "a"),
        ] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }
}
