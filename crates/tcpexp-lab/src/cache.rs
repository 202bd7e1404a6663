//! Where kernels and images are kept.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::LabError;
use crate::files::unwritten;

/// A folder for kernels and images, which may be removed at any time.
///
/// Things are made under another name and then renamed, so what has its name is whole, and who
/// builds the same at the same time gets in nobody's way.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// In `folder`, which need not be there yet.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn kernels(&self) -> PathBuf {
        self.folder.join("kernels")
    }

    pub(crate) fn images(&self) -> PathBuf {
        self.folder.join("images")
    }

    /// A new folder on the same file system, which is gone again unless [`keep`] renames it.
    pub(crate) fn workplace(&self) -> Result<TempDir, LabError> {
        fs::create_dir_all(&self.folder)
            .and_then(|()| {
                tempfile::Builder::new()
                    .prefix("making-")
                    .tempdir_in(&self.folder)
            })
            .map_err(unwritten(&self.folder))
    }
}

/// Gives what was made its name, unless somebody else has made the same meanwhile.
pub(crate) fn keep(made: TempDir, name: &Path) -> Result<(), LabError> {
    if let Some(above) = name.parent() {
        fs::create_dir_all(above).map_err(unwritten(above))?;
    }
    match fs::rename(made.path(), name) {
        Ok(()) => {
            // It is not there any more, so nothing is to be removed.
            drop(made.keep());
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        Err(source) => Err(LabError::Write {
            path: name.to_owned(),
            source,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_of_two_that_make_the_same_keeps_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("cache"));
        let name = cache.images().join("key");
        for content in ["first", "second"] {
            let made = cache.workplace().unwrap();
            fs::write(made.path().join("file"), content).unwrap();
            keep(made, &name).unwrap();
        }
        assert_eq!(fs::read_to_string(name.join("file")).unwrap(), "first");
        let left: Vec<_> = fs::read_dir(cache.folder()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
}
