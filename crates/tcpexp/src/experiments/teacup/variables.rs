//! The parameters of TEACUP's experiments.

use std::collections::BTreeMap;

use tcpexp_runs::record::Parameter;
use tcpexp_units::{BitRate, Share};

use crate::analyze::Parameters;

/// The variable that counts the repetitions, from 0.
const RUNS: &str = "V_runs";

/// Variables whose short names in TEACUP's example configurations are these.
const USUAL_SHORT_NAMES: [(&str, &str); 12] = [
    ("del", "V_delay"),
    ("loss", "V_loss"),
    ("tcp", "V_tcp_cc_algo"),
    ("aqm", "V_aqm"),
    ("bs", "V_bsize"),
    ("run", RUNS),
    ("down", "V_down_rate"),
    ("up", "V_up_rate"),
    ("ecn", "V_ecn"),
    ("dur", "V_duration"),
    ("responders", "V_responders"),
    ("incSz", "V_inc_size"),
];

/// Variables by name; values as text.
pub(super) type Variables = BTreeMap<String, String>;

/// Reads the log of variables: lines `U NAME: VALUE` of used and `N NAME: VALUE` of unused ones.
///
/// Unused variables have no effect on the experiment and are left out.
pub(super) fn of_log(text: &str) -> Variables {
    let used = text.lines().filter_map(|line| line.strip_prefix("U "));
    let pairs = used.filter_map(|line| line.split_once(": "));
    pairs
        .filter(|(name, _)| name.starts_with("V_"))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect()
}

/// Reads the log of short names: lines `V_NAME SHORT PARAMETER`.
pub(super) fn short_names(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter(|line| line.starts_with("V_"));
    let names = lines.filter_map(|line| {
        let mut words = line.split_whitespace();
        let variable = words.next()?;
        Some((words.next()?.to_owned(), variable.to_owned()))
    });
    names.collect()
}

/// The variables in the name of an experiment: `_SHORT_VALUE` for each, after the prefix.
///
/// `short_names` are those of the experiment's log; without it, those of TEACUP's examples count.
pub(super) fn of_name(id: &str, short_names: &[(String, String)]) -> Variables {
    let variable = |short: &str| -> Option<String> {
        let logged = short_names.iter().find(|(known, _)| known == short);
        let usual = || {
            let known = USUAL_SHORT_NAMES.iter().find(|(known, _)| *known == short);
            known.map(|(_, variable)| (*variable).to_owned())
        };
        match logged {
            Some((_, variable)) => Some(variable.clone()),
            None if short_names.is_empty() => usual(),
            None => None,
        }
    };
    let words: Vec<&str> = id.split('_').collect();
    // The prefix may have any number of words, so pairs are read from the end.
    let pairs = words.rchunks_exact(2);
    pairs
        .map_while(|pair| Some((variable(pair[0])?, pair[1].to_owned())))
        .collect()
}

/// Converts variables to parameters with the unit in the name, and the repetition, from 0.
pub(super) fn parameters(variables: &Variables) -> (Parameters, Option<u32>) {
    let others = variables.iter().filter(|(name, _)| *name != RUNS);
    let parameters = others.map(|(name, value)| {
        let (name, value) = parameter(name, value);
        (name, Some(value))
    });
    let run = variables.get(RUNS).and_then(|run| run.parse().ok());
    (parameters.collect(), run)
}

fn parameter(variable: &str, value: &str) -> (String, Parameter) {
    let name = variable.strip_prefix("V_").unwrap_or(variable);
    let number = value
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite());
    let is_rate = name == "rate" || name.ends_with("_rate");
    match (name, number) {
        ("tcp_cc_algo", _) => ("cc".to_owned(), Parameter::Text(value.to_owned())),
        ("ecn", Some(number)) => ("ecn".to_owned(), Parameter::Flag(number != 0.0)),
        // A fraction from 0 to 1.
        ("loss", Some(ratio)) => {
            let percent = Share::percent_of(ratio);
            ("loss_percent".to_owned(), Parameter::Number(percent))
        }
        ("duration", Some(seconds)) => ("duration_s".to_owned(), Parameter::Number(seconds)),
        (_, Some(delay)) if name.starts_with("delay") => {
            (format!("{name}_ms"), Parameter::Number(delay))
        }
        // FreeBSD's pipes take bits per second without a unit.
        ("rate" | "up_rate" | "down_rate", Some(bps)) => {
            (format!("{name}_mbps"), Parameter::Number(bps / 1e6))
        }
        (_, Some(_)) => (name.to_owned(), Parameter::of_text(value)),
        (_, None) if is_rate => match value.parse::<BitRate>() {
            #[expect(clippy::cast_precision_loss, reason = "a rate below 2^53 bit/s")]
            Ok(rate) => {
                let mbps = rate.as_bps() as f64 / 1e6;
                (format!("{name}_mbps"), Parameter::Number(mbps))
            }
            Err(_) => (name.to_owned(), Parameter::Text(value.to_owned())),
        },
        (_, None) => (name.to_owned(), Parameter::Text(value.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(variables: &Variables) -> String {
        let (parameters, run) = parameters(variables);
        let shown = parameters.iter().map(|(name, value)| {
            let value = value.as_ref().map(ToString::to_string);
            format!("{name}={}", value.unwrap_or_default())
        });
        format!("{} run {run:?}", shown.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn used_variables_are_parameters_with_units() {
        let log = "Log of V_ parameters\n\nU V_delay: 25\nU V_down_rate: 8mbit\n\
            U V_up_rate: 1.4mbit\nU V_loss: 0.01\nU V_tcp_cc_algo: newreno\nU V_bsize: 100\n\
            U V_aqm: pfifo\nU V_ecn: 0\nU V_runs: 2\nU V_duration: 30\nN V_dash_rate: 500\n";
        insta::assert_snapshot!(shown(&of_log(log)), @"aqm=pfifo bsize=100 cc=newreno delay_ms=25 down_rate_mbps=8 duration_s=30 ecn=false loss_percent=1 up_rate_mbps=1.4 run Some(2)");
    }

    #[test]
    fn variables_are_read_from_the_name_without_a_log() {
        let id = "20150211-171242_experiment_del_25_down_8mbit_up_1mbit_aqm_fq-codel_run_0";
        insta::assert_snapshot!(shown(&of_name(id, &[])), @"aqm=fq-codel delay_ms=25 down_rate_mbps=8 up_rate_mbps=1 run Some(0)");
        let names = short_names("#V_var_name Short_name Var_param_name\nV_inc iP periods\n");
        insta::assert_snapshot!(shown(&of_name("x_del_5_iP_10", &names)), @"inc=10 run None");
    }
}
