//! Paths from one directory to another.

use std::io;
use std::path::{Component, Path, PathBuf};

/// Returns the relative path from the directory `from` to `to`. Both must exist.
pub(super) fn relative(from: &Path, to: &Path) -> io::Result<PathBuf> {
    let (from, to) = (from.canonicalize()?, to.canonicalize()?);
    let shared = from
        .components()
        .zip(to.components())
        .take_while(|(a, b)| a == b)
        .count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    Ok(up.chain(to.components().skip(shared)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_leads_to_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let (run, data) = (dir.path().join("out/runs/a"), dir.path().join("data"));
        std::fs::create_dir_all(&run).unwrap();
        std::fs::create_dir_all(&data).unwrap();
        std::fs::write(data.join("x"), "").unwrap();
        let path = relative(&run, &data.join("x")).unwrap();
        assert_eq!(path, Path::new("../../../data/x"));
        assert!(run.join(path).exists());
    }
}
