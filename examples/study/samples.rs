//! Numbers computed from samples of datasets, beyond the columns of `tcpexp compare`.

use std::path::Path;

use anyhow::Context;
use tcpexp::{Query, Tables};
use tcpexp_table::{Filter, Frame};

use crate::definition::Cell;

/// A statistic of round-trip times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// Maximum over the flow with the most samples.
    Max,
    /// Median rise between consecutive samples of that flow.
    Step,
    /// Median of the ping samples.
    Ping,
}

/// Threshold of a rise in milliseconds: smaller rises are processing time, not another queued
/// packet.
const MIN_STEP_MS: f64 = 0.1;

impl Sample {
    /// Returns the statistic with this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "rtt_max_ms" => Some(Self::Max),
            "rtt_step_ms" => Some(Self::Step),
            "ping_median_ms" => Some(Self::Ping),
            _ => None,
        }
    }

    /// Computes the statistic of round-trip times in time order.
    fn of(self, rtts_ms: &[f64]) -> Option<f64> {
        match self {
            Self::Max => rtts_ms.iter().copied().reduce(f64::max),
            Self::Step => {
                let rises = rtts_ms.windows(2).map(|pair| pair[1] - pair[0]);
                median(rises.filter(|rise| *rise > MIN_STEP_MS).collect())
            }
            Self::Ping => median(rtts_ms.to_vec()),
        }
    }
}

/// Computes the statistic of each run of a cell.
pub fn of_runs(results: &Path, sample: Sample, cell: &Cell) -> anyhow::Result<Vec<f64>> {
    let filters = cell.iter().filter(|(name, _)| *name != "class");
    let filters = filters.map(|(name, value)| {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        format!("{name}={value}")
    });
    let (table, only) = match sample {
        Sample::Max | Sample::Step => ("rtt", "reference=src"),
        Sample::Ping => ("logs", "kind=ping"),
    };
    let all = filters.chain([only.to_owned()]);
    let filters: Result<Vec<Filter>, String> = all.map(|filter| filter.parse()).collect();
    let query = Query {
        tables: vec![table.to_owned()],
        required: ["run", "flow_id", "direction", "time", "rtt_ms"]
            .map(str::to_owned)
            .to_vec(),
        optional: Vec::new(),
        filters: filters.map_err(anyhow::Error::msg)?,
    };
    let frame = Tables::find(&[results.to_owned()])?.read(&query)?;
    Ok(by_flow(&frame)?
        .iter()
        .filter_map(|rtts| sample.of(rtts))
        .collect())
}

/// Returns, for each run, the round-trip times of the flow and direction with the most samples.
fn by_flow(frame: &Frame) -> anyhow::Result<Vec<Vec<f64>>> {
    let column = |name: &str| {
        frame
            .column(name)
            .with_context(|| format!("there is no column {name}"))
    };
    let [run, flow, way] = ["run", "flow_id", "direction"].map(column);
    let [at, rtt] = ["time", "rtt_ms"].map(column);
    let (run, flow, way, at, rtt) = (run?, flow?, way?, at?, rtt?);
    let mut rows: Vec<usize> = (0..frame.rows()).collect();
    rows.sort_by_key(|row| at.whole(*row));
    let mut runs = std::collections::BTreeMap::new();
    for row in rows {
        let flow = format!("{:?} {:?}", flow.cell(row), way.cell(row));
        let flows: &mut std::collections::BTreeMap<String, Vec<f64>> =
            runs.entry(format!("{:?}", run.cell(row))).or_default();
        flows.entry(flow).or_default().extend(rtt.number(row));
    }
    let most = runs
        .into_values()
        .filter_map(|flows| flows.into_values().max_by_key(Vec::len));
    Ok(most.collect())
}

/// Returns the median; for an even count, the lower of the two middle values.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some(values[last / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_the_typical_increase() {
        let rtts = [40.0, 46.0, 46.0, 46.05, 52.0, 58.0, 41.0, 53.0];
        assert_eq!(Sample::Step.of(&rtts), Some(6.0));
        assert_eq!(Sample::Max.of(&rtts), Some(58.0));
        assert_eq!(Sample::Step.of(&[40.0]), None);
    }
}
