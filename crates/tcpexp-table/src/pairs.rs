//! The table `pairs`: which capture files belong together, and the table of the pairs that failed.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use tcpexp_pair::spp::Point;
use tcpexp_units::Timestamp;

use crate::columns::Columns;
use crate::known_columns::{Cells, each_row};
use crate::table_file::{TableFile, format_of};
use crate::{Error, Format};

/// A capture file, and the pair that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairFileRow {
    /// The pair; `None` without a partner.
    pub pair: Option<PairName>,
    /// The point of the capture; `None` if its name does not contain it.
    pub point: Option<Point>,
    /// Path of the file.
    pub file: String,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Number of records; `None` if the file cannot be read.
    pub records: Option<u64>,
    /// Times of the first and the last packet, on the clock of the capture.
    pub span: Option<(Timestamp, Timestamp)>,
    /// Why the file is in no pair, or cannot be read.
    pub reason: Option<String>,
}

/// Number and name of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairName {
    /// From 1.
    pub number: u64,
    /// Unique name.
    pub name: Arc<str>,
}

/// A pair that could not be analysed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedPairRow {
    /// The pair.
    pub pair: PairName,
    /// Path of its first file at the source.
    pub src: String,
    /// Path of its first file at the destination.
    pub dst: String,
    /// Why.
    pub error: String,
}

const NUMBER: &str = "Number of the pair, from 1.";
const NAME: &str =
    "Name of the pair: the part that the names of its files share. No two pairs have one name.";

/// The columns of `tcpexp pairs`.
pub fn pair_columns() -> Columns<PairFileRow> {
    const NO_PAIR: &str = "Null for a file in no pair.";
    const NO_TIME: &str = "Null if the file cannot be read, or no record has a time.";
    Columns::named("pairs")
        .maybe_count("pair", &format!("{NUMBER} {NO_PAIR}"), |row: &PairFileRow| Some(row.pair.as_ref()?.number))
        .maybe_name("name", &format!("{NAME} {NO_PAIR}"), |row| Some(&row.pair.as_ref()?.name))
        .maybe_text("point", "Point of the capture: src or dst. Null if both are captured to one folder and the file's name has no word for a point.", |row| row.point.map(Point::name))
        .name("file", "Path of the file, as found from the folder on the command line.", |row| &row.file)
        .count("bytes", "Length of the file in bytes.", |row| row.bytes)
        .maybe_count("records", "Number of records in the file. Null if it cannot be read.", |row| row.records)
        .maybe_time("first_time", &format!("Time of the first packet, on the clock of the capture. {NO_TIME}"), |row| Some(row.span?.0))
        .maybe_time("last_time", &format!("Time of the last packet, likewise. {NO_TIME}"), |row| Some(row.span?.1))
        .maybe_name("reason", "Why the file is in no pair, or why it cannot be read. Null for other files.", |row| row.reason.as_deref())
        .done()
}

/// Name of the schema of the table `errors`.
pub(crate) const ERRORS: &str = "errors";

/// The columns of the table `errors` in a dataset of many pairs.
pub fn failed_pair_columns() -> Columns<FailedPairRow> {
    Columns::named(ERRORS)
        .count("number", NUMBER, |row: &FailedPairRow| row.pair.number)
        .name("pair", NAME, |row| &row.pair.name)
        .name("src", "Path of the first file at the source.", |row| {
            &row.src
        })
        .name("dst", "Path of the first file at the destination.", |row| {
            &row.dst
        })
        .name("error", "Why the pair could not be analysed.", |row| {
            &row.error
        })
        .done()
}

/// Mark of UTF-8 that spreadsheets put before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads a table with the columns of [`pair_columns`] in any format, and of any program; further columns are
/// ignored.
pub fn read_pairs(mut file: File) -> Result<Vec<PairFileRow>, Error> {
    let again = file.try_clone().map_err(Error::unread)?;
    let mut start = Vec::new();
    (&mut file)
        .take(16)
        .read_to_end(&mut start)
        .map_err(Error::unread)?;
    let text = start.strip_prefix(BYTE_ORDER_MARK);
    let format = format_of(text.unwrap_or(&start)).ok_or(Error::NoTable)?;
    // The reader of CSV skips the mark.
    let skipped = match (text, format) {
        (Some(_), Format::Json) => BYTE_ORDER_MARK.len(),
        _ => 0,
    };
    file.seek(SeekFrom::Start(skipped as u64))
        .map_err(Error::unread)?;
    let mut rows = Vec::new();
    each_row(format, file, &pair_columns().schema(), |cells| {
        let pair = match cells.count("pair")? {
            Some(number) => Some(PairName {
                number,
                name: cells.must("name", Cells::text)?.into(),
            }),
            None => None,
        };
        let first = cells.time("first_time")?;
        rows.push(PairFileRow {
            pair,
            point: cells.may_be("point", &Point::BOTH, Point::name)?,
            file: cells.must("file", Cells::text)?.to_owned(),
            bytes: cells.must("bytes", Cells::count)?,
            records: cells.count("records")?,
            span: first.zip(cells.time("last_time")?),
            reason: cells.text("reason")?.map(str::to_owned),
        });
        Ok(())
    })?;
    // Another table, or a text, is no table without pairs.
    if rows.iter().all(|row| row.pair.is_none()) {
        require_column(again, "pair")?;
    }
    Ok(rows)
}

fn require_column(mut file: File, column: &'static str) -> Result<(), Error> {
    file.rewind().map_err(Error::unread)?;
    let table = TableFile::open(file)?;
    let has_column = table.columns().contains(&column);
    if has_column {
        Ok(())
    } else {
        Err(Error::NoColumn { column })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use arrow::array::{
        Array, ArrayRef, Float64Array, RecordBatch, StringArray, TimestampNanosecondArray,
        UInt64Array, new_null_array,
    };
    use arrow::compute::cast;
    use arrow::datatypes::{DataType, TimeUnit};
    use arrow::ipc::CompressionType;
    use arrow::ipc::writer::{FileWriter, IpcWriteOptions};
    use parquet::arrow::ArrowWriter;
    use parquet::basic::{Compression, GzipLevel, ZstdLevel};
    use parquet::file::properties::WriterProperties;

    use super::*;
    use crate::RowsWriter;

    /// A table of one pair, as another program writes it: each column of the type that it uses.
    fn foreign(change: impl Fn(&str, ArrayRef) -> ArrayRef) -> RecordBatch {
        let at = |nanos| Arc::new(TimestampNanosecondArray::from(vec![nanos])) as ArrayRef;
        let text = |text| Arc::new(StringArray::from(vec![text])) as ArrayRef;
        let count = |count| Arc::new(UInt64Array::from(vec![count])) as ArrayRef;
        let columns: [(&str, ArrayRef); 9] = [
            ("pair", count(Some(4))),
            ("name", text(Some("a"))),
            ("point", text(Some("src"))),
            ("file", text(Some("a.pcap"))),
            ("bytes", count(Some(1 << 40))),
            ("records", count(None)),
            ("first_time", at(Some(1_767_225_609_778_000_000))),
            ("last_time", at(Some(1_767_225_609_779_000_000))),
            ("reason", text(None)),
        ];
        let columns = columns.map(|(name, array)| (name, change(name, array), true));
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    }

    fn read(file: File) -> Result<Vec<PairFileRow>, Error> {
        let mut file = file;
        file.rewind().unwrap();
        read_pairs(file)
    }

    fn in_arrow(batch: &RecordBatch, compression: Option<CompressionType>) -> File {
        let file = tempfile::tempfile().unwrap();
        let options = IpcWriteOptions::default();
        let options = options.try_with_compression(compression).unwrap();
        let out = file.try_clone().unwrap();
        let mut writer = FileWriter::try_new_with_options(out, &batch.schema(), options).unwrap();
        writer.write(batch).unwrap();
        writer.finish().unwrap();
        file
    }

    #[test]
    fn other_types_and_compressions_hold_the_same_values() {
        let expected = read(in_arrow(&foreign(|_, array| array), None)).unwrap();
        assert_eq!(expected[0].pair.as_ref().unwrap().number, 4);
        let as_type = |of: fn(&str, &DataType) -> Option<DataType>| {
            foreign(move |name, array| match of(name, array.data_type()) {
                Some(DataType::Null) => new_null_array(&DataType::Null, array.len()),
                Some(target) => cast(&array, &target).unwrap(),
                None => array,
            })
        };
        let batches = [
            as_type(|_, found| (*found == DataType::Utf8).then_some(DataType::LargeUtf8)),
            as_type(|_, found| (*found == DataType::Utf8).then_some(DataType::Utf8View)),
            as_type(|_, found| (*found == DataType::UInt64).then_some(DataType::Int64)),
            as_type(|_, found| (*found == DataType::UInt64).then_some(DataType::Float64)),
            as_type(|name, _| (name == "pair").then_some(DataType::Int16)),
            as_type(|name, _| {
                ["records", "reason"]
                    .contains(&name)
                    .then_some(DataType::Null)
            }),
            as_type(|_, found| {
                let millis = DataType::Timestamp(TimeUnit::Millisecond, Some("+00:00".into()));
                matches!(found, DataType::Timestamp(..)).then_some(millis)
            }),
        ];
        for batch in batches {
            assert_eq!(read(in_arrow(&batch, None)).unwrap(), expected, "{batch:?}");
        }
        let batch = foreign(|_, array| array);
        for codec in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
            assert_eq!(read(in_arrow(&batch, Some(codec))).unwrap(), expected);
        }
        for codec in [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(GzipLevel::default()),
            Compression::LZ4_RAW,
            Compression::ZSTD(ZstdLevel::default()),
        ] {
            let file = tempfile::tempfile().unwrap();
            let properties = WriterProperties::builder().set_compression(codec).build();
            let out = file.try_clone().unwrap();
            let mut writer = ArrowWriter::try_new(out, batch.schema(), Some(properties)).unwrap();
            writer.write(&batch).unwrap();
            writer.close().unwrap();
            assert_eq!(read(file).unwrap(), expected, "{codec:?}");
        }
    }

    #[test]
    fn value_that_does_not_fit_its_column_is_an_error() {
        let with = |number: f64| {
            let batch = foreign(|name, array| match name {
                "bytes" => Arc::new(Float64Array::from(vec![number])),
                _ => array,
            });
            read(in_arrow(&batch, None))
        };
        assert_eq!(with(5.0).unwrap()[0].bytes, 5);
        // Not whole; not the only whole number that this float may stand for; negative; no number.
        for number in [4.5, 2e16, -1.0, f64::NAN] {
            assert!(with(number).is_err(), "{number}");
        }
    }

    #[test]
    fn whole_numbers_of_a_csv_file_may_have_a_decimal_point() {
        let mut file = tempfile::tempfile().unwrap();
        let text = "pair,name,point,file,bytes,records,first_time,last_time,reason\n\
            4.0,a,src,a.pcap,1,,,,\n,,,b.txt,1,,,,no capture\n";
        file.write_all(text.as_bytes()).unwrap();
        let rows = read(file).unwrap();
        let numbers = rows
            .iter()
            .map(|row| row.pair.as_ref().map(|pair| pair.number));
        assert_eq!(numbers.collect::<Vec<_>>(), [Some(4), None]);
    }

    #[test]
    fn every_format_is_read_back() {
        let row = |number: Option<u64>, name: &str, reason: Option<&str>| PairFileRow {
            pair: number.map(|number| PairName {
                number,
                name: name.into(),
            }),
            point: number.map(|_| Point::Dst),
            file: "captures/0001.pcap".to_owned(),
            bytes: 1 << 40,
            records: Some(7),
            span: number.map(|_| {
                let at = Timestamp::from_nanos(1_767_225_609_778_130_001);
                (at, at)
            }),
            reason: reason.map(str::to_owned),
        };
        // A name of digits is no number.
        let rows = vec![
            row(Some(1), "0001", None),
            row(None, "", Some("why, \"so\"")),
        ];
        for format in Format::ALL {
            let mut file = tempfile::tempfile().unwrap();
            let out = file.try_clone().unwrap();
            let mut table = RowsWriter::new(format, pair_columns(), out).unwrap();
            table.write(rows.clone()).unwrap();
            table.finish().unwrap();
            file.rewind().unwrap();
            assert_eq!(read_pairs(file).unwrap(), rows, "{format}");
        }
    }

    #[test]
    fn text_of_other_programs_is_read_as_a_table_of_pairs() {
        let of = |text: &str| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(text.as_bytes()).unwrap();
            read(file)
        };
        let header = "pair,name,point,file,bytes,records,first_time,last_time,reason\n";
        let quoted = header.trim_end().replace(',', "\",\"");
        let row = "4,a,src,a.pcap,1,,,,\n";
        let json = r#"{"bytes": 1, "file": "a.pcap", "name": "a", "pair": 4, "point": "src"}"#;
        let expected = of(&format!("{header}{row}")).unwrap();
        assert_eq!(expected[0].pair.as_ref().unwrap().number, 4);
        for text in [
            format!("\"{quoted}\"\n{row}"),
            format!("\u{feff}{header}{row}"),
            format!("\u{feff}\"{quoted}\"\n{row}"),
            format!("line,{header}0,{row}"),
            format!("{json}\n"),
            format!("\u{feff}{json}\n"),
        ] {
            assert_eq!(of(&text).unwrap(), expected, "{text}");
        }
        for text in [
            "name,file\n",
            "a text\n",
            "{\"pairs\": 4, \"file\": \"a\", \"bytes\": 1}\n",
        ] {
            let refusal = of(text).unwrap_err();
            assert!(
                matches!(refusal, Error::NoColumn { column: "pair" }),
                "{text}: {refusal}"
            );
        }
    }
}
