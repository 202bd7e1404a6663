//! The parameters of the runs on a page.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::Value;
use tcpexp_chart::page::PageParameter;
use tcpexp_runs::record::{Parameter, RunRecord};
use tcpexp_runs::varied::independent;
use tcpexp_units::by_value;

/// The parameters that the run's plan varies, with the run's values.
pub(super) fn varied_of(record: &RunRecord) -> BTreeMap<String, Value> {
    let value = |name: &String| {
        let parameter = record.parameters.get(name)?.as_ref();
        Some((name.clone(), parameter.map_or(Value::Null, value_of)))
    };
    record.varied.iter().filter_map(value).collect()
}

fn value_of(parameter: &Parameter) -> Value {
    match parameter {
        Parameter::Flag(flag) => Value::from(*flag),
        Parameter::Count(count) => Value::from(*count),
        Parameter::Number(number) => Value::from(*number),
        Parameter::Text(text) => Value::from(text.as_str()),
    }
}

/// The parameters that vary between runs, in plan order, with sorted values.
pub(super) fn parameters<'r>(records: impl Iterator<Item = &'r RunRecord>) -> Vec<PageParameter> {
    let records: Vec<&RunRecord> = records.collect();
    let mut names: Vec<&String> = Vec::new();
    for name in records.iter().flat_map(|record| &record.varied) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut all = Vec::new();
    let mut columns = Vec::new();
    for name in names {
        let values = records.iter().map(|record| {
            let parameter = record.parameters.get(name);
            let parameter = parameter.filter(|_| record.varied.contains(name));
            parameter
                .and_then(Option::as_ref)
                .map_or(Value::Null, value_of)
        });
        let values: Vec<Value> = values.collect();
        let mut distinct: Vec<Value> = Vec::new();
        let mut column = Vec::new();
        for value in values {
            let known = distinct.iter().position(|known| *known == value);
            column.push(known.unwrap_or(distinct.len()));
            if known.is_none() {
                distinct.push(value);
            }
        }
        columns.push(column);
        distinct.sort_by(order);
        all.push(PageParameter::new(name, distinct));
    }
    let distinguishing = independent(&columns);
    for (place, parameter) in all.iter_mut().enumerate() {
        parameter.is_distinguishing = distinguishing.contains(&place);
    }
    all
}

/// Orders numbers before other values, numbers by size and texts by what they mean.
fn order(a: &Value, b: &Value) -> Ordering {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        (a_number, b_number) => {
            let texts = || match (a.as_str(), b.as_str()) {
                (Some(a), Some(b)) => by_value(a, b),
                (a, b) => a.is_some().cmp(&b.is_some()),
            };
            b_number.is_some().cmp(&a_number.is_some()).then_with(texts)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(parameters: &Value) -> RunRecord {
        let names: Vec<&String> = parameters.as_object().unwrap().keys().collect();
        let record = serde_json::json!({
            "schema": 1, "run": "r", "cell": "c", "repetition": 1, "seed": 1, "plan_hash": "h",
            "status": "complete", "parameters": parameters, "varied": names, "bottleneck": null, "started_ns": 0, "finished_ns": 1,
        });
        serde_json::from_value(record).unwrap()
    }

    #[test]
    fn a_parameter_that_follows_from_others_distinguishes_nothing() {
        let records = [
            serde_json::json!({"link": "slow", "rate_mbps": 2, "rtt": "162ms"}),
            serde_json::json!({"link": "slow", "rate_mbps": 2, "rtt": "16ms"}),
            serde_json::json!({"link": "fast", "rate_mbps": 10, "rtt": "42ms"}),
        ];
        let records = records.map(|parameters| record(&parameters));
        let found = parameters(records.iter());
        let found: Vec<_> = found
            .iter()
            .map(|one| (one.name.as_str(), one.is_distinguishing))
            .collect();
        assert_eq!(
            found,
            [("link", false), ("rate_mbps", false), ("rtt", true)]
        );
    }

    #[test]
    fn values_are_in_the_order_of_their_sizes() {
        let records = ["162ms", "16ms", "42ms", "16ms"];
        let records = records.map(|rtt| record(&serde_json::json!({ "rtt": rtt })));
        assert_eq!(
            parameters(records.iter())[0].values,
            ["16ms", "42ms", "162ms"]
        );
    }
}
