//! The parameters that differ between the cells of a plan.

use std::collections::HashMap;

use tcpexp_runs::record::Parameter;

use super::cell::Cell;
use super::parameters::BASE_RTT;

/// Returns the names of the varied columns, in the order of the matrix's lists.
pub(super) fn varied(cells: &[Cell]) -> Vec<String> {
    let mut found = Vec::new();
    let lists = cells.iter().map(|cell| cell.point.len()).max().unwrap_or(0);
    for list in 0..lists {
        // Compare each cell with the first cell that differs from it in this list only.
        let mut firsts: HashMap<Vec<usize>, &Cell> = HashMap::new();
        for cell in cells.iter().filter(|cell| !cell.point.is_empty()) {
            let mut others = cell.point.clone();
            others.remove(list);
            let first = *firsts.entry(others).or_insert(cell);
            differences(first, cell, &mut found);
        }
    }
    // Included cells have no point in the lists, so the first cell is compared with all others too.
    if let Some((first, others)) = cells.split_first() {
        for cell in others {
            differences(first, cell, &mut found);
        }
    }
    found
}

fn differences(a: &Cell, b: &Cell, found: &mut Vec<String>) {
    for name in a.parameters.keys().chain(b.parameters.keys()) {
        // It follows from the delays, which are parameters themselves.
        let is_new = name != BASE_RTT && !found.contains(name);
        if is_new && value(a, name) != value(b, name) {
            found.push(name.clone());
        }
    }
}

fn value<'a>(cell: &'a Cell, name: &str) -> Option<&'a Parameter> {
    cell.parameters.get(name)?.as_ref()
}
