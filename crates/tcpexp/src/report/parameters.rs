//! The parameters of the runs on a page.

use std::collections::BTreeMap;

use serde_json::Value;
use tcpexp_chart::page::PageParameter;
use tcpexp_runs::record::{Parameter, RunRecord};

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
    let mut all: Vec<PageParameter> = Vec::new();
    for record in records {
        let mut values = varied_of(record);
        for name in &record.varied {
            let value = values.remove(name).unwrap_or(Value::Null);
            match all.iter_mut().find(|known| known.name == *name) {
                Some(known) if known.values.contains(&value) => {}
                Some(known) => known.values.push(value),
                None => all.push(PageParameter::new(name, vec![value])),
            }
        }
    }
    for parameter in &mut all {
        parameter.values.sort_by(order);
    }
    all
}

/// Orders numbers before names, numbers by value and names alphabetically.
fn order(a: &Value, b: &Value) -> std::cmp::Ordering {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        (a_number, b_number) => {
            let names = || a.as_str().cmp(&b.as_str());
            b_number.is_some().cmp(&a_number.is_some()).then_with(names)
        }
    }
}
