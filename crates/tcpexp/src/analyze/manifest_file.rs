//! The file of a dataset's manifest, from which a dataset is recognised.

use std::io::Read;

use serde::Deserialize;

pub use tcpexp_table::dataset::MANIFEST_FILE_NAME as FILE_NAME;

pub(super) use tcpexp_table::dataset::MANIFEST_KIND as KIND;
pub(crate) use tcpexp_table::dataset::PAIRS_MANIFEST_KIND as PAIRS_KIND;

/// The field that every manifest has. Other fields differ between versions.
#[derive(Deserialize)]
pub(super) struct Kind {
    pub(super) kind: String,
}

/// What the manifests of all versions have.
#[derive(Deserialize)]
struct Listing {
    kind: String,
    #[serde(default)]
    tables: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    file: String,
}

/// File names of the tables in the manifest of a dataset, of one run or of many pairs, of any version; `None` if
/// the text is no such manifest.
pub(super) fn listed_tables(manifest: impl Read) -> Option<Vec<String>> {
    let listing: Listing = serde_json::from_reader(manifest).ok()?;
    let is_ours = [KIND, PAIRS_KIND].contains(&listing.kind.as_str());
    let tables = listing.tables.into_iter().map(|table| table.file);
    is_ours.then(|| tables.collect())
}
