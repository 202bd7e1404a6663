//! Marks that the queues of a run counted, from the table `queue` of its dataset.

use std::collections::HashMap;

use tcpexp_metrics::compare::{Marks, Window};
use tcpexp_table::dataset::StoredTables;
use tcpexp_units::Timestamp;

use super::CompareError;
use super::columns::Columns;

/// Marks between two readings of each queue; `None` if no queue counts marks.
///
/// The counters begin with the queue, before the run, so the first reading counts nothing.
pub(super) fn marks(data: &StoredTables) -> Result<Option<Vec<Marks>>, CompareError> {
    let columns = [
        "time",
        "log",
        "interface",
        "handle",
        "kind",
        "ecn_marked_packets",
    ];
    let table = Columns::read(data, "queue", &columns)?;
    let [at, log, interface, handle, kind, marked] = columns.map(|name| table.column(name));
    let mut readings: HashMap<_, Vec<(Timestamp, u64)>> = HashMap::new();
    for row in 0..table.rows() {
        let queue = [&log, &interface, &handle, &kind].map(|column| column.text(row));
        if let (Some(at), Some(marked)) = (at.time(row), marked.count(row)) {
            readings.entry(queue).or_default().push((at, marked));
        }
    }
    if readings.is_empty() {
        return Ok(None);
    }
    let mut all = Vec::new();
    for mut of_queue in readings.into_values() {
        of_queue.sort_unstable();
        all.extend(of_queue.windows(2).map(|pair| Marks {
            between: Window {
                from: pair[0].0,
                until: pair[1].0,
            },
            // A counter that fell belongs to a new queue, as after a change of the path, and began at 0.
            packets: pair[1].1.checked_sub(pair[0].1).unwrap_or(pair[1].1),
        }));
    }
    Ok(Some(all))
}
