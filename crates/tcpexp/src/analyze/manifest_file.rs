//! The file of a dataset's manifest, from which a dataset is recognised.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use serde::Deserialize;

pub use tcpexp_table::dataset::MANIFEST_FILE_NAME as FILE_NAME;

/// Value of the manifest's field `kind`.
pub(super) const KIND: &str = "tcpexp dataset";

/// True if `path` is the manifest of a dataset, of any version.
pub(super) fn is_manifest(path: &Path) -> bool {
    // Other fields differ between versions, so only `kind` is read.
    #[derive(Deserialize)]
    struct Kind {
        kind: String,
    }
    File::open(path).is_ok_and(|file| {
        serde_json::from_reader::<_, Kind>(BufReader::new(file)).is_ok_and(|is| is.kind == KIND)
    })
}
