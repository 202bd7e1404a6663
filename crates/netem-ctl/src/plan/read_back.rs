//! Compares the printed state of a router with the expected one.

use tcpexp_host::Qdisc;
use tcpexp_units::BitRate;

use super::check::{Check, Mismatch, Must, OptionValue, QdiscFact};
use super::json::{self, Filter};
use super::tc::{NEWEST_OFFLOAD, OFFLOADS, PRIORITIES};

/// Relative error of printed rates: `tc` prints four digits, `ipfw` three decimals.
const RATE_TOLERANCE: f64 = 1e-3;

impl Check {
    /// The differences between `output`, the standard output of the command, and the expectation.
    pub fn compare(&self, output: &str) -> Vec<Mismatch> {
        match &self.must {
            Must::Qdiscs(facts) => qdiscs(facts, output),
            Must::Class { device, id, rate } => class(device, id, *rate, output),
            Must::Redirects { device, to } => redirects(device, to, output),
            Must::Policer {
                device,
                rate,
                burst,
            } => policer(device, *rate, *burst, output),
            Must::TraceLink { device, name } => trace_link(device, name, output),
            Must::NoOffload { device } => offload(device, output),
            Must::Pipe {
                number,
                rate,
                delay,
                words,
            } => {
                let millis = delay.as_nanos() / 1_000_000;
                pipe(*number, *rate, millis, words, output)
            }
            Must::Rules(rules) => self::rules(rules, output),
            Must::Setting { name, value, exact } => setting(name, *value, *exact, output),
        }
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the values are made for the call"
)]
fn mismatch(what: impl Into<String>, expected: impl ToString, found: impl ToString) -> Mismatch {
    Mismatch {
        what: what.into(),
        expected: expected.to_string(),
        found: found.to_string(),
    }
}

fn qdiscs(facts: &[QdiscFact], output: &str) -> Vec<Mismatch> {
    let found = match Qdisc::list(output) {
        Ok(found) => found,
        Err(error) => return vec![mismatch("the list of queues", "JSON of tc", error)],
    };
    let mut wrong = Vec::new();
    for fact in facts {
        let place = fact.parent.as_deref().unwrap_or("the root");
        let what = format!("the queue at {place} of {}", fact.device);
        let expected = format!("{} {}", fact.kind, fact.handle);
        let here = found.iter().find(|qdisc| match &fact.parent {
            None => qdisc.root,
            Some(parent) => qdisc.parent.as_ref() == Some(parent),
        });
        let Some(here) = here else {
            wrong.push(mismatch(what, expected, "missing"));
            continue;
        };
        // The options of another queue are not comparable, so only the queue is reported.
        if (&here.kind, &here.handle) != (&fact.kind, &fact.handle) {
            let found = format!("{} {}", here.kind, here.handle);
            wrong.push(mismatch(what, expected, found));
            continue;
        }
        wrong.extend(options(fact, here));
    }
    wrong
}

fn options(fact: &QdiscFact, found: &Qdisc) -> Vec<Mismatch> {
    let mut wrong = Vec::new();
    for option in &fact.options {
        let value = found.option(option.path);
        let is_so = match &option.value {
            OptionValue::Number(number) => value
                .and_then(serde_json::Value::as_f64)
                .is_some_and(|value| (value - number.value).abs() <= number.tolerance),
            OptionValue::Word(word) => value.and_then(serde_json::Value::as_str) == Some(word),
            OptionValue::Switch(is_on) => {
                value.and_then(serde_json::Value::as_bool).unwrap_or(false) == *is_on
            }
            OptionValue::Absent => value.is_none(),
        };
        if !is_so {
            let what = format!("{} of {} on {}", option.path, fact.kind, fact.device);
            let value = value.map_or("missing".into(), ToString::to_string);
            wrong.push(mismatch(what, &option.value, value));
        }
    }
    wrong
}

/// iproute2 up to 6.1 prints classes as text even with `-j`.
fn class(device: &str, id: &str, rate: BitRate, output: &str) -> Vec<Mismatch> {
    let what = format!("class {id} on {device}");
    let Some([found, ceiling]) = json::class_rates(output, id) else {
        return vec![mismatch(what, format!("htb with rate {rate}"), "missing")];
    };
    let bps = rate.as_bps() as f64;
    let is_rate = |found: f64| (found - bps).abs() <= bps * RATE_TOLERANCE;
    let wrong = [("rate", found), ("ceil", ceiling)].into_iter();
    wrong
        .filter(|(_, found)| !is_rate(*found))
        .map(|(name, found)| mismatch(format!("{name} of {what}"), format!("{bps} bit/s"), found))
        .collect()
}

fn redirects(device: &str, to: &[(u32, String, String)], output: &str) -> Vec<Mismatch> {
    let what = format!("what enters {device}");
    let filters = match tcpexp_host::list::<Filter>(output) {
        Ok(filters) => filters,
        Err(error) => return vec![mismatch(what, "JSON of tc", error)],
    };
    let mut found: Vec<(u32, String, String)> = Vec::new();
    for filter in filters {
        for device in filter.redirects_to() {
            found.push((filter.pref, filter.protocol.clone(), device));
        }
    }
    let show = |list: &[(u32, String, String)]| {
        let one = |(pref, protocol, device): &(u32, String, String)| {
            format!("{protocol} (pref {pref}) to {device}")
        };
        match list {
            [] => "redirected nowhere".to_owned(),
            list => list.iter().map(one).collect::<Vec<_>>().join(", "),
        }
    };
    // Other programs may have filters on the interface, with other priorities.
    let ours = |filter: &&(u32, String, String)| PRIORITIES.contains(&filter.0);
    let found: Vec<_> = found.iter().filter(ours).cloned().collect();
    if found == to {
        return Vec::new();
    }
    vec![mismatch(what, show(to), show(&found))]
}

fn offload(device: &str, output: &str) -> Vec<Mismatch> {
    let features: Vec<(&str, &str)> = output
        .lines()
        .filter_map(|line| line.trim().split_once(": "))
        .collect();
    let found = |name: &str| features.iter().find(|(key, _)| *key == name);
    let mut wrong = Vec::new();
    for (_, name) in OFFLOADS {
        // An offload that cannot be switched off reads `on [fixed]`.
        let state = match found(name) {
            Some((_, value)) if value.starts_with("off") => continue,
            // A kernel that lacks the offload does not apply it.
            None if name == NEWEST_OFFLOAD && !features.is_empty() => continue,
            Some((_, value)) => value,
            None => "missing",
        };
        wrong.push(mismatch(format!("{name} of {device}"), "off", state));
    }
    wrong
}

/// Relative error of a printed burst: the kernel stores the time that it takes, in ticks of 64 ns.
const BURST_TOLERANCE: f64 = 0.01;

fn policer(device: &str, rate: BitRate, burst: u64, output: &str) -> Vec<Mismatch> {
    let what = format!("the policer of {device}");
    let Some((found_rate, found_burst)) = json::policer(output) else {
        return vec![mismatch(what, format!("a rate of {rate}"), "missing")];
    };
    let (rate_bps, burst_bytes) = (rate.as_bps() as f64, burst as f64);
    let mut wrong = Vec::new();
    if (found_rate - rate_bps).abs() > rate_bps * RATE_TOLERANCE {
        let rates = [rate_bps, found_rate].map(|rate| format!("{rate} bit/s"));
        wrong.push(mismatch(format!("rate of {what}"), &rates[0], &rates[1]));
    }
    if (found_burst - burst_bytes).abs() > burst_bytes * BURST_TOLERANCE {
        wrong.push(mismatch(format!("burst of {what}"), burst, found_burst));
    }
    wrong
}

/// `tc` prints the name of the file and the section that a program is from.
fn trace_link(device: &str, name: &str, output: &str) -> Vec<Mismatch> {
    let program = format!("{name}.o:[{}]", crate::trace_link::SECTION);
    if output.split_whitespace().any(|word| word == program) {
        return Vec::new();
    }
    let found = output.split_whitespace().find(|word| word.contains(".o:["));
    let what = format!("the trace of {device}");
    vec![mismatch(what, program, found.unwrap_or("missing"))]
}

/// `ipfw` prints two lines for a pipe: rate and delay, then the queue.
fn pipe(
    number: u32,
    rate: Option<BitRate>,
    millis: i64,
    words: &[String],
    output: &str,
) -> Vec<Mismatch> {
    let what = format!("pipe {number}");
    let label = format!("{number:05}:");
    let Some(line) = output
        .lines()
        .find(|line| line.trim_start().starts_with(&label))
    else {
        return vec![mismatch(what, "configured", "missing")];
    };
    let mut wrong = Vec::new();
    let fields: Vec<&str> = line.split_ascii_whitespace().skip(1).collect();
    let (found_rate, rest) = match fields[..] {
        ["unlimited", ref rest @ ..] => (None, rest),
        [number, unit, ref rest @ ..] => (Some(format!("{number} {unit}")), rest),
        _ => (None, &fields[..]),
    };
    let found_bps = found_rate.as_deref().and_then(bps_of);
    let is_rate = match (rate, found_bps) {
        (None, None) => true,
        // Three decimals are printed.
        (Some(rate), Some(found)) => {
            let rate = rate.as_bps() as f64;
            (rate - found).abs() <= rate * RATE_TOLERANCE
        }
        _ => false,
    };
    if !is_rate {
        let expected = rate.map_or("unlimited".into(), |rate| rate.to_string());
        let found = found_rate.unwrap_or("unlimited".into());
        wrong.push(mismatch(format!("rate of {what}"), expected, found));
    }
    let found_delay = rest.first().copied().unwrap_or("missing");
    if found_delay != millis.to_string() {
        let what = format!("delay of {what}");
        wrong.push(mismatch(
            what,
            format!("{millis} ms"),
            format!("{found_delay} ms"),
        ));
    }
    for word in words.iter().filter(|word| !output.contains(word.as_str())) {
        wrong.push(mismatch(format!("the queue of {what}"), word, "another"));
    }
    wrong
}

/// "10.000 Mbit/s" in bits per second.
fn bps_of(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    let scale = match unit {
        "Gbit/s" => 1e9,
        "Mbit/s" => 1e6,
        "Kbit/s" => 1e3,
        "bit/s" => 1.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * scale)
}

/// Compares the rules. `ipfw` prints host addresses without a prefix length.
fn rules(rules: &[String], output: &str) -> Vec<Mismatch> {
    let plain = |rule: &str| rule.replace("/32 ", " ").replace("/128 ", " ");
    let body = |line: &str| line.trim().split_once(' ').map(|(_, body)| plain(body));
    let found: Vec<String> = output.lines().filter_map(body).collect();
    let expected: Vec<String> = rules.iter().map(|rule| plain(rule)).collect();
    if found == expected {
        return Vec::new();
    }
    vec![mismatch(
        "the list of rules",
        expected.join("; "),
        found.join("; "),
    )]
}

fn setting(name: &str, value: u64, exact: bool, output: &str) -> Vec<Mismatch> {
    let found = output.trim().parse::<u64>().ok();
    let is_so = found.is_some_and(|found| found == value || (!exact && found > value));
    if is_so {
        return Vec::new();
    }
    let expected = if exact {
        value.to_string()
    } else {
        format!("{value} or more")
    };
    let found = found.map_or("unknown".into(), |found| found.to_string());
    vec![mismatch(name, expected, found)]
}

#[cfg(test)]
mod tests;
