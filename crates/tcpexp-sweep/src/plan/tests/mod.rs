mod expectations;
mod hosts;
mod matrix;
mod paths;
mod refused;
mod runs;
mod tables;

use std::path::Path;

use tcpexp_runs::record::Parameter;

use super::*;
use crate::{schedule, site};

const PLAN: &str = r#"kind = "lab"

[matrix]
cc = ["cubic", "reno"]
rate = ["2mbit", "10mbit"]

[path.forward]
delay = "10ms"
buffer = "30p"

[[traffic]]
name = "bulk"
tool = "iperf3"
duration = "10s"
"#;

fn plan(text: &str) -> Plan {
    Plan::parse(Path::new("plan.toml"), text).unwrap()
}

fn refusal(text: &str) -> String {
    Plan::parse(Path::new("plan.toml"), text)
        .unwrap_err()
        .to_string()
}

/// The plan with something in place of something else.
fn refusal_of(old: &str, new: &str) -> String {
    assert!(PLAN.contains(old));
    refusal(&PLAN.replace(old, new))
}

/// Returns the varied parameters of each cell.
fn cells(plan: &Plan) -> String {
    let value = |cell: &Cell, name: &String| match &cell.parameters.get(name).cloned().flatten() {
        Some(Parameter::Text(text)) => text.clone(),
        Some(Parameter::Number(number)) => number.to_string(),
        Some(Parameter::Count(count)) => count.to_string(),
        Some(Parameter::Flag(flag)) => flag.to_string(),
        None => "-".to_owned(),
    };
    let row = |cell: &Cell| -> String {
        let values: Vec<_> = plan.varied.iter().map(|name| value(cell, name)).collect();
        values.join(" ")
    };
    let rows: Vec<_> = plan.cells.iter().map(row).collect();
    format!("{}: {}", plan.varied.join(" "), rows.join(", "))
}
