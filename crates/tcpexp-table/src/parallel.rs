//! The same work on each column of a table, on several threads.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// Number of rows below which a thread costs more than it saves: it starts in some 30 µs, and a cell takes
/// some 10 ns.
const FEW_ROWS: usize = 4_096;

/// Passes each column of `rows` rows to `work`, and returns the results in the order of the columns.
///
/// Starts threads of its own instead of those of rayon's pool. A pool's thread that measures waits for a
/// table's thread to take its rows; if the table's thread waited for the pool, neither would go on.
pub(crate) fn each_column<T: Send, U: Send>(
    rows: usize,
    columns: Vec<T>,
    work: impl Fn(T) -> U + Sync,
) -> Vec<U> {
    let threads = rayon::current_num_threads().min(columns.len());
    if threads <= 1 || rows < FEW_ROWS {
        return columns.into_iter().map(work).collect();
    }
    let waiting = Mutex::new(columns.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    let share = || {
        // The lock is free again before the work starts.
        let next = || lock(&waiting).next();
        while let Some((place, column)) = next() {
            let result = work(column);
            lock(&done).push((place, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            let started = thread::Builder::new().spawn_scoped(scope, share);
            // The threads already started and this one share all columns.
            if started.is_err() {
                break;
            }
        }
        share();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_columns() {
        let columns: Vec<u64> = (0..1_000).collect();
        let expected: Vec<u64> = columns.iter().map(|column| column * column).collect();
        for rows in [FEW_ROWS - 1, FEW_ROWS] {
            let squares = each_column(rows, columns.clone(), |column| column * column);
            assert_eq!(squares, expected);
            assert!(each_column(rows, Vec::<u64>::new(), |column| column).is_empty());
        }
    }
}
