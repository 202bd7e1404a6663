//! The rows of the table `queue` that are about the queue of a device.

use std::collections::HashSet;

use crate::Frame;

/// Columns that [`queue_rows`] reads.
pub const QUEUE_KEYS: [&str; 6] = ["file", "log", "interface", "kind", "handle", "parent"];

/// Kinds of queueing disciplines that hold no packets.
const WITHOUT_QUEUE: [&str; 3] = ["clsact", "ingress", "noqueue"];

/// Returns whether each row is about the queue of its device: the innermost discipline, below the rate
/// stage if there is one, or the root (such as `cake`) if there is none below it.
///
/// Disciplines that hold no packets (`clsact`) are not, although they have a parent. A row without an
/// interface is about the queue that its packets passed.
pub fn queue_rows(queue: &Frame) -> Vec<bool> {
    let text = |column, row| queue.text(column, row);
    let device = |row| ["file", "log", "interface"].map(|column| text(column, row));
    let holds_packets = |row| text("kind", row).is_none_or(|kind| !WITHOUT_QUEUE.contains(&kind));
    let is_inner = |row| text("parent", row).is_some() && holds_packets(row);
    let with_inner: HashSet<_> = (0..queue.rows())
        .filter(|row| is_inner(*row))
        .map(device)
        .collect();
    (0..queue.rows())
        .map(|row| is_inner(row) || holds_packets(row) && !with_inner.contains(&device(row)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Series;

    fn frame(rows: &[(&str, &str, Option<&str>)]) -> Frame {
        Frame::of(vec![
            (
                "interface".into(),
                Series::texts(rows.iter().map(|row| Some(row.0))),
            ),
            (
                "kind".into(),
                Series::texts(rows.iter().map(|row| Some(row.1))),
            ),
            ("parent".into(), Series::texts(rows.iter().map(|row| row.2))),
        ])
    }

    #[test]
    fn queue_of_a_device_is_the_innermost_discipline_that_holds_packets() {
        let rows = [
            ("right", "htb", None),
            ("right", "pfifo", Some("7b1:10")),
            ("right", "clsact", Some("ffff:fff1")),
            ("left", "cake", None),
            ("left", "clsact", Some("ffff:fff1")),
            ("lo", "noqueue", None),
        ];
        assert_eq!(
            queue_rows(&frame(&rows)),
            [false, true, false, true, false, false]
        );
    }

    #[test]
    fn rows_of_packets_are_about_the_queue_that_they_passed() {
        let frame = Frame::of(vec![(
            "way".into(),
            Series::texts([Some("out"), Some("back")]),
        )]);
        assert_eq!(queue_rows(&frame), [true, true]);
    }
}
