//! Failures of the readers of Parquet, Arrow, CSV and JSON, without the names of their types.

use std::error::Error as StdError;
use std::io;

use arrow::error::ArrowError;
use parquet::errors::ParquetError;
use thiserror::Error;

/// Why the contents of a file are no table.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct Damaged(String);

impl Damaged {
    fn of(format: &str, what: &str) -> Self {
        Self(format!("the {format} data is damaged: {what}"))
    }
}

/// A failure of a reader.
pub(crate) enum Failure {
    /// The system cannot read the file.
    System(io::Error),
    Contents(Damaged),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl From<ParquetError> for Failure {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(cause) => of_wrapped(cause),
            ParquetError::General(what)
            | ParquetError::EOF(what)
            | ParquetError::ArrowError(what) => Self::Contents(Damaged::of("Parquet", &what)),
            other => Self::Contents(Damaged::of("Parquet", &other.to_string())),
        }
    }
}

impl From<ArrowError> for Failure {
    fn from(error: ArrowError) -> Self {
        Self::Contents(match error {
            // The text of the variant repeats that of the system's error.
            ArrowError::IoError(_, source) => return Self::System(source),
            ArrowError::ExternalError(cause) => return of_wrapped(cause),
            ArrowError::ParquetError(what) => {
                let what = what.strip_prefix("Parquet error: ").unwrap_or(&what);
                Damaged::of("Parquet", what)
            }
            ArrowError::CsvError(what) => match unequal_line(&what) {
                Some(why) => Damaged(why),
                None => Damaged::of("CSV", &what),
            },
            ArrowError::JsonError(what) => {
                let what = what.strip_prefix("Not valid JSON: ").unwrap_or(&what);
                Damaged::of("JSON", what)
            }
            ArrowError::IpcError(what) => Damaged::of("Arrow", &what),
            ArrowError::CastError(what)
            | ArrowError::ParseError(what)
            | ArrowError::SchemaError(what)
            | ArrowError::InvalidArgumentError(what) => {
                // The row itself, which may be long, is in the file.
                let (what, _) = what.split_once(". Row data: ").unwrap_or((&what, ""));
                Damaged(what.to_owned())
            }
            other => Damaged(other.to_string()),
        })
    }
}

fn of_wrapped(cause: Box<dyn StdError + Send + Sync>) -> Failure {
    let cause = match cause.downcast::<io::Error>() {
        Ok(cause) => return (*cause).into(),
        Err(cause) => cause,
    };
    match cause.downcast::<ParquetError>() {
        Ok(cause) => (*cause).into(),
        Err(cause) => Failure::Contents(Damaged(cause.to_string())),
    }
}

/// A line of CSV with another number of cells than the header; `None` for another error. Arrow calls the
/// cells records while it infers the columns, and fields afterwards.
fn unequal_line(what: &str) -> Option<String> {
    let (line, expected, found) =
        if let Some(numbers) = what.strip_prefix("incorrect number of fields for line ") {
            let (line, numbers) = numbers.split_once(", expected ")?;
            let (expected, found) = numbers.split_once(" got ")?;
            (line, expected, found)
        } else {
            let (_, numbers) = what.split_once(". Expected ")?;
            let (expected, numbers) = numbers.split_once(" records, found ")?;
            let (found, line) = numbers.split_once(" records at line ")?;
            (line, expected, found)
        };
    Some(format!(
        "line {line}: expected {expected} cells, as in the header, found {found}"
    ))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Seek, Write};

    use super::*;
    use crate::{Error, TableFile};

    fn chain(error: &Error) -> String {
        let cause = error.source().map(ToString::to_string);
        format!("{error}: {}", cause.unwrap_or_default())
    }

    #[test]
    fn damaged_tables_are_described_without_names_of_types() {
        let said = |contents: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(contents).unwrap();
            file.rewind().unwrap();
            chain(&TableFile::open(file).err().unwrap())
        };
        assert_eq!(
            said(b"a,b\n1,2\n3\n"),
            "cannot read the table: line 3: expected 2 cells, as in the header, found 1"
        );
        assert_eq!(
            said(b"a,b\n1,2\n3,4,5\n"),
            "cannot read the table: line 3: expected 2 cells, as in the header, found 3"
        );
        assert_eq!(
            said(b"PAR1 and nothing else PAR2"),
            "cannot read the table: the Parquet data is damaged: Invalid Parquet file. Corrupt footer"
        );
        assert_eq!(
            said(b"{\"a\": 1, \"b\"\n"),
            "cannot read the table: the JSON data is damaged: EOF while parsing an object at line 1 column 12"
        );
    }

    #[test]
    fn line_with_a_wrong_number_of_cells_is_described_alike_wherever_arrow_finds_it() {
        for (what, expected) in [
            (
                "Encountered unequal lengths between records on CSV file. Expected 2 records, found 3 records at line 5",
                "line 5: expected 2 cells, as in the header, found 3",
            ),
            (
                "incorrect number of fields for line 5, expected 2 got 1",
                "line 5: expected 2 cells, as in the header, found 1",
            ),
            (
                "incorrect number of fields for line 5, expected 2 got more than 2",
                "line 5: expected 2 cells, as in the header, found more than 2",
            ),
        ] {
            assert_eq!(unequal_line(what).as_deref(), Some(expected));
        }
        assert_eq!(unequal_line("the file is empty"), None);
    }

    #[test]
    fn directory_in_place_of_a_table_is_an_error_of_the_system() {
        let error = TableFile::open(File::open(".").unwrap()).err().unwrap();
        assert!(matches!(error, Error::ReadFile(_)), "{error}");
        assert_eq!(chain(&error).matches("os error").count(), 1);
    }

    #[test]
    fn error_of_the_system_keeps_no_text_of_the_reader() {
        let files = || io::Error::from_raw_os_error(24);
        for failure in [
            Failure::from(ArrowError::from(files())),
            ParquetError::from(files()).into(),
            ArrowError::ExternalError(Box::new(ParquetError::from(files()))).into(),
        ] {
            let Failure::System(source) = failure else {
                panic!("an error of the system is no damage");
            };
            assert_eq!(source.raw_os_error(), Some(24));
        }
    }

    #[test]
    fn contents_of_a_row_are_left_out_of_the_reason() {
        let text = "Error while parsing value 'x' at line 5. Row data: '[1,x]'";
        let Failure::Contents(damaged) = ArrowError::ParseError(text.to_owned()).into() else {
            panic!("a wrong number is no error of the system");
        };
        assert_eq!(
            damaged.to_string(),
            "Error while parsing value 'x' at line 5"
        );
    }
}
