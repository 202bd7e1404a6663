//! Recognition of the tables of datasets.

use std::io::{self, Read, Seek, SeekFrom};

use parquet::file::metadata::{FooterTail, ParquetMetaDataReader};

use crate::pairs::ERRORS;
use crate::schema::SCHEMA_NAME;

/// Length of the end of a Parquet file, which has the length of the footer.
const TAIL_BYTES: usize = 8;

/// Start of the names of the tables' schemas. The tables of commands have other names.
const OF_DATASET: &str = "dataset_";

/// True if a file is a table of a dataset, as Parquet. Reads only its footer.
pub fn is_table_of_dataset(mut file: impl Read + Seek) -> io::Result<bool> {
    let length = file.seek(SeekFrom::End(0))?;
    let Some(before_tail) = length.checked_sub(TAIL_BYTES as u64) else {
        return Ok(false);
    };
    file.seek(SeekFrom::Start(before_tail))?;
    let mut tail = [0; TAIL_BYTES];
    file.read_exact(&mut tail)?;
    let Ok(tail) = FooterTail::try_new(&tail) else {
        return Ok(false);
    };
    let Some(start) = before_tail.checked_sub(tail.metadata_length() as u64) else {
        return Ok(false);
    };
    file.seek(SeekFrom::Start(start))?;
    let mut footer = vec![0; tail.metadata_length()];
    file.read_exact(&mut footer)?;
    let Ok(metadata) = ParquetMetaDataReader::decode_metadata(&footer) else {
        return Ok(false);
    };
    let mut pairs = metadata
        .file_metadata()
        .key_value_metadata()
        .into_iter()
        .flatten();
    let name = pairs.find(|pair| pair.key == SCHEMA_NAME);
    let name = name.and_then(|pair| pair.value.as_deref());
    Ok(name.is_some_and(|name| name.starts_with(OF_DATASET) || name == ERRORS))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use tcpexp_units::Timestamp;

    use super::super::losses;
    use super::*;
    use crate::{Columns, Format, RowsWriter, failed_pair_columns, pair_columns};

    fn table<R: Sync>(columns: Columns<R>) -> Vec<u8> {
        let mut table = RowsWriter::new(Format::Parquet, columns, Vec::new()).unwrap();
        table.write(Vec::new()).unwrap();
        table.finish().unwrap()
    }

    #[test]
    fn only_tables_of_datasets_are_recognised() {
        let recognised = |bytes: Vec<u8>| is_table_of_dataset(Cursor::new(bytes)).unwrap();
        let of_run = losses::columns(Timestamp::from_nanos(0));
        assert!(recognised(table(of_run)));
        assert!(recognised(table(failed_pair_columns())));
        assert!(!recognised(table(pair_columns())));
        for bytes in [&b""[..], b"PAR1 mine", b"PAR1\xff\xff\xff\x7fPAR1"] {
            assert!(!recognised(bytes.to_vec()));
        }
    }
}
