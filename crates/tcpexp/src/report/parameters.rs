//! The parameters of the runs on a page.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::Value;
use tcpexp_chart::page::PageParameter;
use tcpexp_runs::record::{Parameter, RunRecord};
use tcpexp_runs::varied::{self, independent};
use tcpexp_units::by_value;

/// The run's values of the parameters that vary between the runs of a page.
pub(super) fn values_of(record: &RunRecord, varied: &[String]) -> BTreeMap<String, Value> {
    let value = |name: &String| (name.clone(), value_of(record, name));
    varied.iter().map(value).collect()
}

fn value_of(record: &RunRecord, name: &str) -> Value {
    match varied::value_of(record, name) {
        None => Value::Null,
        Some(Parameter::Flag(flag)) => Value::from(flag),
        Some(Parameter::Count(count)) => Value::from(count),
        Some(Parameter::Number(number)) => Value::from(number),
        Some(Parameter::Text(text)) => Value::from(text),
    }
}

/// The parameters that vary between runs, in plan order, with sorted values.
pub(super) fn parameters(records: &[&RunRecord], varied: &[String]) -> Vec<PageParameter> {
    let mut all = Vec::new();
    let mut columns = Vec::new();
    for name in varied {
        let values = records.iter().map(|record| value_of(record, name));
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

    fn of(records: &[RunRecord]) -> Vec<PageParameter> {
        let records: Vec<&RunRecord> = records.iter().collect();
        parameters(&records, &varied::varied(records.iter().copied()))
    }

    #[test]
    fn a_parameter_that_follows_from_others_distinguishes_nothing() {
        let records = [
            serde_json::json!({"link": "slow", "rate_mbps": 2, "rtt": "162ms"}),
            serde_json::json!({"link": "slow", "rate_mbps": 2, "rtt": "16ms"}),
            serde_json::json!({"link": "fast", "rate_mbps": 10, "rtt": "42ms"}),
        ];
        let records = records.map(|parameters| record(&parameters));
        let found = of(&records);
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
        assert_eq!(of(&records)[0].values, ["16ms", "42ms", "162ms"]);
    }
}
