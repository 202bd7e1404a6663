//! Maps as sorted lists of entries, so that equal maps give equal text.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) fn serialize<K, V, H, S>(map: &HashMap<K, V, H>, to: S) -> Result<S::Ok, S::Error>
where
    K: Serialize + Ord,
    V: Serialize,
    S: Serializer,
{
    let mut entries: Vec<(&K, &V)> = map.iter().collect();
    entries.sort_by_key(|(key, _)| *key);
    to.collect_seq(entries)
}

pub(super) fn deserialize<'de, K, V, H, D>(from: D) -> Result<HashMap<K, V, H>, D::Error>
where
    K: Deserialize<'de> + Eq + Hash,
    V: Deserialize<'de>,
    H: BuildHasher + Default,
    D: Deserializer<'de>,
{
    let entries = Vec::<(K, V)>::deserialize(from)?;
    Ok(entries.into_iter().collect())
}
