//! Temporary files of captures that have none.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use tempfile::TempDir;

/// A temporary directory that exists as long as a table or a stream reads from it.
#[pyclass(frozen, module = "tcpexp._native")]
pub(crate) struct Held(pub(crate) Arc<TempDir>);

#[pymethods]
impl Held {
    #[new]
    fn new() -> PyResult<Self> {
        let made = tempfile::Builder::new().prefix("tcpexp-").tempdir()?;
        Ok(Self(Arc::new(made)))
    }

    /// Path of the directory.
    #[getter]
    fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }
}
