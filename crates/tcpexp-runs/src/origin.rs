//! How a dataset was made, as its manifest states it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use tcpexp_table::dataset::MANIFEST_FILE_NAME;

/// The fields of a manifest that state how the dataset was made.
#[derive(Deserialize)]
pub(crate) struct Origin {
    pub(crate) tcpexp_version: String,
    captures: Vec<Capture>,
    options: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct Capture {
    sha256: String,
    /// Number of flows that are not in the dataset because the capture has more than `--max-flows`.
    #[serde(default)]
    flows_left_out: u64,
}

/// The options that select packets.
const SELECTING: [&str; 4] = ["filter", "from_ns", "to_ns", "shard"];
/// The selected moments. They differ between captures although the options are equal, such as `--from 5s`.
const MOMENTS: [&str; 2] = ["from_ns", "to_ns"];

impl Origin {
    /// `None` for a run without a dataset of captures.
    pub(crate) fn of(dataset: &Path) -> Option<Self> {
        let file = File::open(dataset.join(MANIFEST_FILE_NAME)).ok()?;
        serde_json::from_reader(BufReader::new(file)).ok()
    }

    /// The value of an option as text; empty if the option is not set.
    pub(crate) fn option(&self, name: &str) -> String {
        match self.options.get(name) {
            None | Some(Value::Null | Value::Bool(false)) => String::new(),
            Some(value) => value.to_string(),
        }
    }

    /// True if the dataset is of captures.
    pub(crate) fn has_captures(&self) -> bool {
        !self.captures.is_empty()
    }

    /// The packets that the dataset is of. Parts of a capture in time may be repetitions.
    pub(crate) fn packets(&self) -> (Vec<&str>, [String; 2]) {
        let captures = self.captures.iter();
        let checksums = captures.map(|capture| capture.sha256.as_str());
        (checksums.collect(), MOMENTS.map(|name| self.option(name)))
    }

    /// True if the dataset has the flows of all packets of its captures.
    pub(crate) fn has_all_packets(&self) -> bool {
        SELECTING.iter().all(|name| self.option(name).is_empty())
            && self
                .captures
                .iter()
                .all(|capture| capture.flows_left_out == 0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_dataset_lacks_packets_if_options_select_some_or_flows_are_left_out() {
        let has_all = |options: Value, left_out: [u64; 2]| {
            let captures = left_out.map(|flows| json!({"sha256": "", "flows_left_out": flows}));
            let manifest = json!({"tcpexp_version": "1", "captures": captures, "options": options});
            let origin: Origin = serde_json::from_value(manifest).unwrap();
            origin.has_all_packets()
        };
        assert!(has_all(json!({"filter": null, "max_flows": 9}), [0, 0]));
        assert!(!has_all(json!({}), [0, 1]));
        for name in SELECTING {
            assert!(!has_all(json!({name: "1"}), [0, 0]), "{name}");
        }
    }
}
