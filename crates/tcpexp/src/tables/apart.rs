//! Different names for runs in different places.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A run, dataset or file: the path that was named, and the name of the run below it.
pub(super) type Place = (PathBuf, String);

/// Gives each place its name. If several places have the same name, the end of each path precedes the
/// name, with as many folders as make the names differ. Places with equal paths have one name.
pub(super) fn told_apart(places: &BTreeSet<Place>) -> BTreeMap<&Place, String> {
    let mut of_names: BTreeMap<&str, Vec<&Place>> = BTreeMap::new();
    for place in places {
        of_names.entry(&place.1).or_default().push(place);
    }
    let mut names = BTreeMap::new();
    for (name, alike) in of_names {
        if let [place] = alike[..] {
            names.insert(place, name.to_owned());
            continue;
        }
        let paths: Vec<Vec<String>> = alike.iter().map(|(path, _)| words(path)).collect();
        let longest = paths.iter().map(Vec::len).max().unwrap_or(0);
        let ends = |count: usize| paths.iter().map(move |words| end(words, count));
        let count =
            (1..longest).find(|count| ends(*count).collect::<BTreeSet<_>>().len() == alike.len());
        for (place, end) in alike.into_iter().zip(ends(count.unwrap_or(longest))) {
            let is_own = stem(&place.0) == *name;
            names.insert(place, if is_own { end } else { format!("{end}/{name}") });
        }
    }
    names
}

/// Returns a file's name without its extension, or a folder's full name.
pub(super) fn stem(path: &Path) -> String {
    // Paths such as `.` have a name only in canonical form.
    let name = if path.is_dir() {
        path.canonicalize()
            .ok()
            .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
    } else {
        path.file_stem()
            .map(|name| name.to_string_lossy().into_owned())
    };
    name.unwrap_or_else(|| path.display().to_string())
}

/// The names of the folders on a path, and of its end.
fn words(path: &Path) -> Vec<String> {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folders = whole.parent().into_iter().flat_map(Path::components);
    let folders = folders.map(|folder| folder.as_os_str().to_string_lossy().into_owned());
    folders.chain([stem(path)]).collect()
}

/// The last `count` words of a path.
fn end(words: &[String], count: usize) -> String {
    words[words.len().saturating_sub(count)..].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(places: &[(&str, &str)]) -> Vec<String> {
        let places: Vec<Place> = places
            .iter()
            .map(|(path, name)| (path.into(), (*name).to_owned()))
            .collect();
        let known = places.iter().cloned().collect();
        let names = told_apart(&known);
        places.iter().map(|place| names[place].clone()).collect()
    }

    #[test]
    fn only_equal_names_get_the_part_of_the_path_that_differs() {
        let files = [
            ("/x/a/rtt.csv", "rtt"),
            ("/x/b/rtt.csv", "rtt"),
            ("/x/b/owd.csv", "owd"),
        ];
        assert_eq!(names(&files), ["a/rtt", "b/rtt", "owd"]);
        let sweeps = [("/x/old", "0001"), ("/x/new", "0001"), ("/x/new", "0002")];
        assert_eq!(names(&sweeps), ["old/0001", "new/0001", "0002"]);
        let deep = [("/1/a/rtt.csv", "rtt"), ("/2/a/rtt.csv", "rtt")];
        assert_eq!(names(&deep), ["1/a/rtt", "2/a/rtt"]);
        let same = [("/x/a.csv", "a"), ("/x/a.csv", "a")];
        assert_eq!(names(&same), ["a", "a"]);
    }
}
