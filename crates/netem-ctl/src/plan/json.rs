//! What `tc -j` prints, as far as it is looked at.

use serde::Deserialize;
use serde_json::Value;

/// A queueing discipline with its counters.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Qdisc {
    pub(crate) kind: String,
    pub(crate) handle: String,
    #[serde(default)]
    pub(crate) root: bool,
    pub(crate) parent: Option<String>,
    #[serde(default)]
    pub(crate) options: Value,
    #[serde(default)]
    pub(crate) bytes: u64,
    #[serde(default)]
    pub(crate) packets: u64,
    #[serde(default)]
    pub(crate) drops: u64,
    #[serde(default)]
    pub(crate) backlog: u64,
    #[serde(default)]
    pub(crate) qlen: u64,
    /// `codel` and `pie`.
    #[serde(default)]
    ecn_mark: u64,
    /// `red`.
    #[serde(default)]
    marked: u64,
    /// `cake` counts in each of its tins.
    #[serde(default)]
    tins: Vec<Tin>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Tin {
    #[serde(default)]
    ecn_mark: u64,
}

/// A filter. Its matches are not read: they are repeated keys, which JSON has not.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Filter {
    pub(crate) protocol: String,
    pub(crate) pref: u32,
    #[serde(default)]
    pub(crate) options: Value,
}

/// Reads JSON of `tc`. Empty output is an empty list, and lists have empty objects in them for what
/// was not asked for.
pub(crate) fn parse<T: for<'de> Deserialize<'de> + Default + IntoIterator>(
    text: &str,
) -> Result<T, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(T::default());
    }
    let mut list: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if let Value::Array(items) = &mut list {
        items.retain(|item| item.as_object().is_none_or(|object| !object.is_empty()));
    }
    serde_json::from_value(list).map_err(|error| error.to_string())
}

impl Qdisc {
    /// Reads what `tc -j -s qdisc show` says of one interface.
    pub(crate) fn list(text: &str) -> Option<Vec<Self>> {
        let list: Vec<Self> = parse(text).ok()?;
        (!list.is_empty()).then_some(list)
    }

    /// Packets marked instead of dropped, whatever the kind calls them.
    pub(crate) fn marks(&self) -> u64 {
        let tins: u64 = self.tins.iter().map(|tin| tin.ecn_mark).sum();
        self.ecn_mark + self.marked + tins
    }

    /// An option by the names of what it is in, with dots between.
    pub(crate) fn option(&self, path: &str) -> Option<&Value> {
        path.split('.')
            .try_fold(&self.options, |value, name| value.get(name))
    }
}

impl Filter {
    /// The devices that it hands packets to.
    pub(crate) fn redirects_to(&self) -> Vec<String> {
        let actions = self.options.get("actions").and_then(Value::as_array);
        let redirects = actions.into_iter().flatten().filter(|action| {
            action.get("mirred_action").and_then(Value::as_str) == Some("redirect")
        });
        redirects
            .filter_map(|action| action.get("to_dev")?.as_str())
            .map(str::to_owned)
            .collect()
    }
}

/// Rate and ceiling of an `htb` class in bits per second, from JSON or from text.
pub(crate) fn class_rates(output: &str, id: &str) -> Option<[f64; 2]> {
    if output.trim_start().starts_with('[') {
        let list: Vec<Value> = parse(output).ok()?;
        let is_it = |class: &&Value| class.get("handle").and_then(Value::as_str) == Some(id);
        let class = list.iter().find(is_it)?;
        // Bytes per second, as in all JSON of tc.
        let rate = |name: &str| Some(class.get(name)?.as_f64()? * 8.0);
        return Some([rate("rate")?, rate("ceil")?]);
    }
    let line = output
        .lines()
        .find(|line| line.starts_with(&format!("class htb {id} ")))?;
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let after = |name: &str| {
        let at = words.iter().position(|word| *word == name)?;
        rate_of(words.get(at + 1)?)
    };
    Some([after("rate")?, after("ceil")?])
}

/// `10Mbit` in bits per second.
fn rate_of(text: &str) -> Option<f64> {
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(split);
    let scale = match unit {
        "bit" => 1.0,
        "Kbit" => 1e3,
        "Mbit" => 1e6,
        "Gbit" => 1e9,
        "Tbit" => 1e12,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * scale)
}
