//! Orders of the tables of flows.

use tcpexp_units::TimeDelta;

/// An order of rows: those with the largest key come first, those without one last.
pub(crate) struct Order<R: 'static> {
    /// Name and description.
    pub(crate) name: (&'static str, &'static str),
    pub(crate) key: fn(&R) -> Option<u64>,
}

/// A table that shows the first rows of an order.
pub trait Ordered: Sized {
    /// Returns name and description of each order. The first is the order of a new table.
    fn orders() -> Vec<(&'static str, &'static str)>;

    /// Sorts by the order of this name, and shows the first rows of it. An unknown name changes nothing.
    #[must_use]
    fn sorted_by(self, name: &str) -> Self;
}

/// Implements [`Ordered`] for a table by its orders and the field with its rows.
macro_rules! ordered {
    ($table:ty, $field:tt, $orders:expr) => {
        impl crate::order::Ordered for $table {
            fn orders() -> Vec<(&'static str, &'static str)> {
                $orders.iter().map(|order| order.name).collect()
            }

            fn sorted_by(mut self, name: &str) -> Self {
                self.$field = self.$field.sorted_by(&$orders, name);
                self
            }
        }
    };
}
pub(crate) use ordered;

/// The longest of these times as a key; `None` without a time.
pub(crate) fn longest(times: impl Iterator<Item = TimeDelta>) -> Option<u64> {
    times
        .map(|time| time.as_nanos().max(0).unsigned_abs())
        .max()
}
