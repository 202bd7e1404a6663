//! Columns of a dataset's table, by name.

use tcpexp_table::dataset::StoredTables;
use tcpexp_table::{Frame, Series, TableFile};
use tcpexp_units::{TimeDelta, Timestamp};

use super::CompareError;

/// The selected columns of a table.
pub(super) struct Columns(Frame);

/// One column; a column that the table lacks is null in every row.
pub(super) struct Column<'a>(Option<&'a Series>);

impl Columns {
    /// Reads the named columns of a table. A table that the dataset need not have has no rows if it is
    /// missing.
    pub(super) fn read(
        data: &StoredTables,
        table: &str,
        columns: &[&str],
    ) -> Result<Self, CompareError> {
        let Some(file) = data.open(table)? else {
            return Ok(Self(Frame::default()));
        };
        let frame = TableFile::open(file).and_then(|table| table.read(columns));
        frame.map(Self).map_err(|source| CompareError::Table {
            path: data.path(table),
            source,
        })
    }

    pub(super) const fn rows(&self) -> usize {
        self.0.rows()
    }

    pub(super) fn column(&self, name: &str) -> Column<'_> {
        Column(self.0.column(name))
    }
}

impl<'a> Column<'a> {
    pub(super) fn text(&self, row: usize) -> Option<&'a str> {
        self.0?.text(row)
    }

    pub(super) fn is(&self, row: usize, text: &str) -> bool {
        self.text(row) == Some(text)
    }

    pub(super) fn whole(&self, row: usize) -> Option<i64> {
        self.0?.whole(row)
    }

    pub(super) fn number(&self, row: usize) -> Option<f64> {
        self.0?.number(row)
    }

    /// A nonnegative integer.
    pub(super) fn count<T: TryFrom<i64>>(&self, row: usize) -> Option<T> {
        T::try_from(self.whole(row)?).ok()
    }

    pub(super) fn time(&self, row: usize) -> Option<Timestamp> {
        self.whole(row).map(Timestamp::from_nanos)
    }

    pub(super) fn span(&self, row: usize) -> Option<TimeDelta> {
        self.whole(row).map(TimeDelta::from_nanos)
    }
}
