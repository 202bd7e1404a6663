//! Temporary files of captures that have none.

use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;

use pyo3::prelude::*;
use tempfile::TempDir;

/// A temporary directory that exists as long as a table or a stream reads from it.
#[pyclass(frozen, module = "tcpexp._native")]
pub(crate) struct Held(pub(crate) Arc<HeldDir>);

#[pymethods]
impl Held {
    #[new]
    fn new() -> PyResult<Self> {
        let made = tempfile::Builder::new().prefix("tcpexp-").tempdir()?;
        Ok(Self(Arc::new(HeldDir::of(made))))
    }

    /// Path of the directory.
    #[getter]
    fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }
}

/// A directory that the process that made it removes.
pub(crate) struct HeldDir {
    /// `None` only while it is dropped.
    dir: Option<TempDir>,
    made_by: u32,
}

impl HeldDir {
    fn of(dir: TempDir) -> Self {
        Self {
            dir: Some(dir),
            made_by: process::id(),
        }
    }

    fn path(&self) -> &Path {
        self.dir.as_ref().map_or(Path::new(""), TempDir::path)
    }
}

impl Drop for HeldDir {
    fn drop(&mut self) {
        // A forked child has a copy of each value, but the directory belongs to its parent.
        if process::id() != self.made_by
            && let Some(dir) = self.dir.take()
        {
            let _ = dir.keep();
        }
    }
}
