//! Results of parallel work.

use rayon::iter::IndexedParallelIterator;

/// Collects the results; if several are errors, returns the first in the order of the items.
///
/// `collect` of rayon returns the error that comes first in time, so that messages would depend on threads.
pub(crate) fn in_order<T: Send, E: Send>(
    results: impl IndexedParallelIterator<Item = Result<T, E>>,
) -> Result<Vec<T>, E> {
    let mut all = Vec::new();
    results.collect_into_vec(&mut all);
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::Duration;

    use rayon::prelude::*;

    use super::*;

    #[test]
    fn the_error_of_the_first_item_is_returned_even_if_it_comes_last() {
        let late_at_first = |item: u64| {
            sleep(Duration::from_millis(20 - 5 * item));
            if item == 0 { Ok(item) } else { Err(item) }
        };
        assert_eq!(
            in_order([0, 1, 2, 3].into_par_iter().map(late_at_first)),
            Err(1)
        );
        assert_eq!(
            in_order([0, 0].into_par_iter().map(late_at_first)),
            Ok(vec![0, 0])
        );
    }
}
