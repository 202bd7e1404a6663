//! The parameters that suffice to distinguish the cells of a grid.

use std::collections::HashMap;

/// The places of columns that suffice to distinguish all rows that differ.
///
/// Leaves out constant columns, and columns whose values follow from other columns: a plan that varies
/// a link by name varies its rate and delay with it. Of columns that determine each other, the first
/// stays. A column has one value per row.
///
/// ```
/// use tcpexp_runs::varied::independent;
///
/// let rates = [10, 10, 100];
/// let names = [7, 7, 8];
/// let buffers = [1, 2, 1];
/// assert_eq!(independent(&[rates, names, buffers].map(Vec::from)), [0, 2]);
/// ```
pub fn independent(columns: &[Vec<usize>]) -> Vec<usize> {
    let follows = |column: usize, others: &[usize]| {
        let mut known = HashMap::new();
        columns[column].iter().enumerate().all(|(row, value)| {
            let key: Vec<usize> = others.iter().map(|&other| columns[other][row]).collect();
            known.entry(key).or_insert(value) == &value
        })
    };
    let places = 0..columns.len();
    let varying: Vec<usize> = places.filter(|&column| !follows(column, &[])).collect();
    // The column that determines the most others is the name that a user gave.
    let is_finest = |&column: &usize| {
        !varying.iter().any(|&other| {
            other != column
                && follows(column, &[other])
                && (other < column || !follows(other, &[column]))
        })
    };
    let mut kept: Vec<usize> = varying.iter().copied().filter(is_finest).collect();
    for column in kept.clone().into_iter().rev() {
        let others: Vec<usize> = kept.iter().copied().filter(|&one| one != column).collect();
        if follows(column, &others) {
            kept = others;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// The places of `columns`, given by row: each letter is a value.
    fn kept(rows: &[&str]) -> Vec<usize> {
        let letters: Vec<Vec<usize>> = rows
            .iter()
            .map(|row| row.bytes().map(usize::from).collect())
            .collect();
        let columns =
            (0..rows[0].len()).map(|place| letters.iter().map(|row| row[place]).collect());
        independent(&columns.collect::<Vec<_>>())
    }

    #[test]
    fn a_constant_column_distinguishes_nothing() {
        assert_eq!(kept(&["xa", "xb"]), [1]);
        assert_eq!(kept(&["xa"]), [0; 0]);
    }

    #[test]
    fn the_finest_of_dependent_columns_stays() {
        // One delay belongs to two links, and each link has one delay.
        assert_eq!(kept(&["1a", "1b", "2c"]), [1]);
        assert_eq!(kept(&["a1", "b1", "c2"]), [0]);
    }

    #[test]
    fn the_first_of_equivalent_columns_stays() {
        assert_eq!(kept(&["1a", "2b"]), [0]);
    }

    #[test]
    fn a_column_that_two_others_determine_is_left_out() {
        assert_eq!(kept(&["ra1", "rb2", "sa2", "sb1"]), [0, 1]);
    }

    proptest! {
        #[test]
        fn what_stays_distinguishes_the_rows_and_nothing_of_it_is_superfluous(
            rows in prop::collection::vec(prop::collection::vec(0_usize..3, 5), 1..12)
        ) {
            let columns: Vec<Vec<usize>> =
                (0..5).map(|place| rows.iter().map(|row| row[place]).collect()).collect();
            let kept = independent(&columns);
            let groups = |of: &[usize]| {
                let key = |row: &Vec<usize>| of.iter().map(|&place| row[place]).collect::<Vec<_>>();
                rows.iter().map(key).collect::<BTreeSet<_>>().len()
            };
            let all = groups(&[0, 1, 2, 3, 4]);
            prop_assert_eq!(groups(&kept), all);
            for place in &kept {
                let others: Vec<usize> = kept.iter().copied().filter(|one| one != place).collect();
                prop_assert!(groups(&others) < all);
            }
        }
    }
}
