//! Cells held against their baseline.

use super::*;
use crate::repetition::Bootstrap;

/// Runs of two cells: what class `legacy` gets in each.
fn compared(cells: &[(usize, u64)]) -> Vec<CellClass> {
    let of = |&(cell, mbps): &(usize, u64)| RunOfCell {
        cell,
        classes: measure_run(&run(vec![sender("legacy", 0, &[mbps; 3])]), &options(0)),
    };
    let mut runs: Vec<RunOfCell> = cells.iter().map(of).collect();
    compare(&mut runs, &[Some(0), Some(0)], &Bootstrap::default())
}

#[test]
fn cells_are_compared_to_the_median_of_the_baseline() {
    let rows = compared(&[(0, 8), (1, 4), (0, 10), (1, 5), (0, 3), (1, 6)]);
    let classes: Vec<_> = rows
        .iter()
        .map(|row| (row.cell, row.class.as_deref(), row.runs))
        .collect();
    let expected = [
        (0, None, 3),
        (0, Some("legacy"), 3),
        (1, None, 3),
        (1, Some("legacy"), 3),
    ];
    assert_eq!(classes, expected);
    let median = |row: usize, measure| rows[row].estimate(measure).unwrap().median;
    let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
    assert!(close(median(1, Measure::Goodput), 8e6));
    assert!(close(median(1, Measure::Friendliness), 1.0));
    assert!(close(median(3, Measure::Friendliness), 5.0 / 8.0));
    assert!(close(median(3, Measure::GoodputHarm), 3.0 / 8.0));
    let harm = rows[3]
        .estimate(Measure::GoodputHarm)
        .unwrap()
        .interval
        .unwrap();
    assert!(close(harm.0, 0.25) && close(harm.1, 0.5));
}

#[test]
fn a_cell_without_runs_has_no_row() {
    let rows = compared(&[(1, 4)]);
    assert!(rows.iter().all(|row| row.cell == 1));
    // Nor does it make a baseline.
    assert_eq!(rows[0].estimate(Measure::GoodputHarm), None);
}
