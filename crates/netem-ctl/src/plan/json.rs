//! The JSON of `tc -j filter` and `tc -j class`, and text where `tc` has no JSON.

use serde::Deserialize;
use serde_json::Value;
use tcpexp_host::list;

/// A filter. Its matches are not read: `tc` prints them as repeated keys, which JSON does not have.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Filter {
    pub(crate) protocol: String,
    pub(crate) pref: u32,
    #[serde(default)]
    pub(crate) options: Value,
}

impl Filter {
    /// The devices that it redirects packets to.
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
    // iproute2 up to 6.1 prints classes as text, even with `-j`.
    if output.trim_start().starts_with('[') {
        let classes: Vec<Value> = list(output).ok()?;
        let is_it = |class: &&Value| class.get("handle").and_then(Value::as_str) == Some(id);
        let class = classes.iter().find(is_it)?;
        // tc prints rates in bytes per second in all its JSON.
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

/// Rate in bits per second and burst in bytes of the policer in the text of `tc filter show`.
pub(crate) fn policer(output: &str) -> Option<(f64, f64)> {
    let (_, policer) = output.split_once(" police ")?;
    let words: Vec<&str> = policer.split_ascii_whitespace().collect();
    let after = |name: &str| {
        let at = words.iter().position(|word| *word == name)?;
        words.get(at + 1).copied()
    };
    Some((rate_of(after("rate")?)?, size_of(after("burst")?)?))
}

/// `64Kb` in bytes: `tc` counts sizes in powers of 1024.
fn size_of(text: &str) -> Option<f64> {
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(split);
    let scale = match unit {
        "b" => 1.0,
        "Kb" => 1_024.0,
        "Mb" => 1_048_576.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * scale)
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
