//! The file of a dataset's manifest, from which a dataset is recognised.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use serde::Deserialize;

pub use tcpexp_table::dataset::MANIFEST_FILE_NAME as FILE_NAME;

/// Value of the manifest's field `kind`.
pub(super) const KIND: &str = "tcpexp dataset";

/// The same for the dataset of many pairs of captures.
pub(crate) const PAIRS_KIND: &str = "tcpexp dataset of pairs";

/// The field that every manifest has. Other fields differ between versions.
#[derive(Deserialize)]
pub(super) struct Kind {
    pub(super) kind: String,
}

/// True if `path` is the manifest of a dataset, of one run or of many pairs, of any version.
pub(super) fn is_manifest(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| {
        serde_json::from_reader::<_, Kind>(BufReader::new(file))
            .is_ok_and(|is| [KIND, PAIRS_KIND].contains(&is.kind.as_str()))
    })
}
