//! The file of a dataset's manifest, from which a dataset is recognised.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use serde::Deserialize;

pub use tcpexp_table::dataset::MANIFEST_FILE_NAME as FILE_NAME;

pub(super) use tcpexp_table::dataset::MANIFEST_KIND as KIND;
pub(crate) use tcpexp_table::dataset::PAIRS_MANIFEST_KIND as PAIRS_KIND;

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
