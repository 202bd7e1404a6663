//! The rows of the table `queue` that a chart of many runs shows.

use std::collections::{BTreeMap, BTreeSet};

use tcpexp_chart::Levels;
use tcpexp_table::{Frame, queue_rows};

use super::SOURCE_COLUMN;
use super::words::listed;
use crate::pairs::PAIR_COLUMN;

/// Table of the queueing disciplines of routers.
pub(super) const QUEUE: &str = "queue";
const INTERFACE: &str = "interface";
const LOG: &str = "log";
/// Direction between the points of the packets that passed the queue.
const WAY: &str = "way";
/// Columns that [`take`] reads besides those that [`queue_rows`] reads.
pub(super) const KEYS: [&str; 2] = [WAY, PAIR_COLUMN];
/// Columns by which a user chooses disciplines.
const DISCIPLINE_KEYS: [&str; 3] = ["kind", "handle", "parent"];

/// True if the rows of this table are about queues, and no column in `chosen`, by which the user filters or
/// groups, chooses among the disciplines.
pub(super) fn are_of_table(table: &str, chosen: &[&str]) -> bool {
    table == QUEUE && !chosen.iter().any(|name| DISCIPLINE_KEYS.contains(name))
}

/// Returns the rows about queues, not those of the disciplines around them, and a description of them.
///
/// Unless the user chooses the interface, these are the rows of the interface with the largest sum of
/// `column`: the packets of the other direction have a queue too, which is mostly empty. Interfaces of
/// several routers may have the same name; of these, the one with the largest sum in a file counts there.
/// Rows that packets yield have no interface but a way between the points, which counts in the same manner.
pub(super) fn take(rows: &Frame, column: &str, chosen: &[&str]) -> (Frame, Option<String>) {
    let queues = rows.filtered(&queue_rows(rows));
    let (queues, of_interfaces) = of_fullest_interface(&queues, column, chosen);
    let (queues, of_ways) = of_fullest_ways(&queues, column, chosen);
    let notes = of_interfaces.into_iter().chain(of_ways);
    let note = notes.reduce(|interfaces, ways| format!("{interfaces}, {ways}"));
    (queues, note)
}

fn of_fullest_interface(queues: &Frame, column: &str, chosen: &[&str]) -> (Frame, Option<String>) {
    let (Some(interfaces), Some(values)) = (queues.column(INTERFACE), queues.column(column)) else {
        return (queues.clone(), None);
    };
    let interface = |row| interfaces.text(row).map(str::to_owned);
    let mut sums: BTreeMap<Option<String>, f64> = BTreeMap::new();
    for row in 0..queues.rows() {
        *sums.entry(interface(row)).or_default() += values.number(row).unwrap_or(0.0);
    }
    if sums.len() > 1
        && !chosen.contains(&INTERFACE)
        && let Some((Some(fullest), _)) = sums.iter().max_by(|a, b| a.1.total_cmp(b.1))
    {
        let is_kept = |row| interface(row).as_ref() == Some(fullest);
        let keep: Vec<bool> = (0..queues.rows()).map(is_kept).collect();
        let (queues, several) = of_fullest_logs(&queues.filtered(&keep), column, chosen);
        return (
            queues,
            Some(format!(
                "queue of {fullest}, the fullest interface{several}"
            )),
        );
    }
    let (queues, several) = of_fullest_logs(queues, column, chosen);
    let names: Vec<String> = sums.into_keys().flatten().collect();
    let note = (!names.is_empty()).then(|| format!("queue of {}{several}", listed(&names)));
    (queues, note)
}

/// Keeps, for each file and interface, the rows of the log with the largest sum of `column`, and describes
/// the choice if there was one.
fn of_fullest_logs(queues: &Frame, column: &str, chosen: &[&str]) -> (Frame, &'static str) {
    if chosen.contains(&LOG) || queues.column(LOG).is_none() {
        return (queues.clone(), "");
    }
    match of_fullest(queues, column, &[SOURCE_COLUMN, INTERFACE], LOG) {
        Some(keep) => (queues.filtered(&keep), " of the fullest router"),
        None => (queues.clone(), ""),
    }
}

/// Keeps, for each run, the rows of the way between the points with the largest sum of `column`, unless the
/// user chooses the way, and names the ways of the rows.
fn of_fullest_ways(queues: &Frame, column: &str, chosen: &[&str]) -> (Frame, Option<String>) {
    let keep = if chosen.contains(&WAY) {
        None
    } else {
        of_fullest(
            queues,
            column,
            &[SOURCE_COLUMN, PAIR_COLUMN, INTERFACE],
            WAY,
        )
    };
    let is_choice = keep.is_some();
    let queues = keep.map_or_else(|| queues.clone(), |keep| queues.filtered(&keep));
    let way = |row| queues.text(WAY, row).map(str::to_owned);
    let ways: BTreeSet<String> = (0..queues.rows()).filter_map(way).collect();
    let ways = Vec::from_iter(ways);
    let note = match (ways.as_slice(), is_choice) {
        ([], _) => None,
        ([way], true) => Some(format!("queue on the way {way}, the fullest way")),
        (ways, true) => Some(format!(
            "queue on the fullest way of each run: {}",
            listed(ways)
        )),
        (ways, false) => Some(format!("queue on the way {}", listed(ways))),
    };
    (queues, note)
}

/// Whether each row has the value of `among` with the largest sum of `column`, of the rows with the same
/// values of `within`; `None` if no rows differ in `among` alone.
fn of_fullest(queues: &Frame, column: &str, within: &[&str], among: &str) -> Option<Vec<bool>> {
    let mut columns: Vec<String> = within.iter().map(|name| (*name).to_owned()).collect();
    let places = Levels::of(queues, &columns);
    columns.push(among.to_owned());
    let parts = Levels::of(queues, &columns);
    if places.len() == parts.len() {
        return None;
    }
    let values = queues.column(column);
    let mut sums = vec![0.0; parts.len()];
    for row in 0..queues.rows() {
        sums[parts.of_row(row)] += values.and_then(|values| values.number(row)).unwrap_or(0.0);
    }
    let mut fullest = vec![None; places.len()];
    for row in 0..queues.rows() {
        let (part, best) = (parts.of_row(row), &mut fullest[places.of_row(row)]);
        if best.is_none_or(|best: usize| sums[part] > sums[best]) {
            *best = Some(part);
        }
    }
    let is_kept = |row| fullest[places.of_row(row)] == Some(parts.of_row(row));
    Some((0..queues.rows()).map(is_kept).collect())
}

#[cfg(test)]
mod tests {
    use tcpexp_table::Series;

    use super::*;

    fn rows() -> Frame {
        let text = |values: [Option<&str>; 4]| Series::texts(values);
        let backlog = [Some(9), Some(7), Some(1), Some(0)];
        Frame::of(vec![
            (
                INTERFACE.into(),
                text([Some("right"), Some("right"), Some("left"), Some("right")]),
            ),
            (
                "kind".into(),
                text([Some("htb"), Some("pfifo"), Some("pfifo"), Some("clsact")]),
            ),
            (
                "parent".into(),
                text([None, Some("7c1:"), Some("7b1:"), Some("ffff:fff1")]),
            ),
            ("backlog_packets".into(), Series::Whole(backlog.into())),
        ])
    }

    fn taken(chosen: &[&str]) -> (usize, Option<String>) {
        let (frame, note) = take(&rows(), "backlog_packets", chosen);
        (frame.rows(), note)
    }

    #[test]
    fn only_the_queue_of_the_fullest_interface_counts() {
        let note = "queue of right, the fullest interface".to_owned();
        assert_eq!(taken(&[]), (1, Some(note)));
    }

    #[test]
    fn of_routers_with_equal_interfaces_the_fullest_in_each_file_counts() {
        let texts = |values: [&str; 4]| Series::texts(values.map(Some));
        let backlog = [Some(9), Some(1), Some(2), Some(5)];
        let rows = Frame::of(vec![
            (SOURCE_COLUMN.into(), texts(["a", "a", "b", "b"])),
            (LOG.into(), texts(["one", "two", "one", "two"])),
            (INTERFACE.into(), texts(["right"; 4])),
            ("kind".into(), texts(["pfifo"; 4])),
            ("parent".into(), texts(["7c1:"; 4])),
            ("backlog_packets".into(), Series::Whole(backlog.into())),
        ]);
        let (frame, note) = take(&rows, "backlog_packets", &[]);
        let kept = frame.column("backlog_packets").unwrap();
        assert_eq!(*kept, Series::Whole(vec![Some(9), Some(5)]));
        assert_eq!(note.unwrap(), "queue of right of the fullest router");
        assert_eq!(take(&rows, "backlog_packets", &[LOG]).0.rows(), 4);
    }

    #[test]
    fn queues_of_all_interfaces_count_if_the_user_groups_by_interface() {
        let note = "queue of left and right".to_owned();
        assert_eq!(taken(&["interface"]), (2, Some(note)));
    }

    #[test]
    fn a_user_who_chooses_among_disciplines_gets_all_of_them() {
        assert!(are_of_table("queue", &["interface"]));
        assert!(!are_of_table("queue", &["kind"]));
        assert!(!are_of_table("flows", &[]));
    }

    #[test]
    fn of_the_rows_of_packets_the_fullest_way_of_each_run_counts() {
        let texts = |values: [&str; 6]| Series::texts(values.map(Some));
        let rows = |runs: [&str; 6]| {
            let ways = texts(["out", "back", "back", "out", "back", "out"]);
            let delays = [Some(70), Some(1), Some(2), Some(3), Some(80), Some(90)];
            Frame::of(vec![
                (SOURCE_COLUMN.into(), texts(runs)),
                (INTERFACE.into(), Series::texts([None::<&str>; 6])),
                (WAY.into(), ways),
                (
                    "queueing_delay_mean_ns".into(),
                    Series::Whole(delays.into()),
                ),
            ])
        };
        let taken = |runs, chosen: &[&str]| {
            let (frame, note) = take(&rows(runs), "queueing_delay_mean_ns", chosen);
            (frame.rows(), note.unwrap())
        };
        let one = ["a", "a", "a", "a", "b", "b"];
        let note = "queue on the way out, the fullest way";
        assert_eq!(taken(one, &[]), (3, note.to_owned()));
        let other = ["a", "a", "a", "b", "b", "b"];
        let runs = ["a", "a", "b", "b", "b", "a"];
        assert_eq!(taken(other, &[]).0, 3);
        let note = "queue on the fullest way of each run: back and out";
        assert_eq!(taken(runs, &[]), (4, note.to_owned()));
        let note = "queue on the way back and out";
        assert_eq!(taken(one, &[WAY]), (6, note.to_owned()));
    }
}
