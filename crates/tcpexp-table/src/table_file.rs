//! Reading of tables with arbitrary columns from any of the formats.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::csv::ReaderBuilder as CsvReader;
use arrow::csv::reader::Format as CsvFormat;
use arrow::datatypes::{DataType, Float64Type, Int64Type, SchemaRef, TimeUnit};
use arrow::error::ArrowError;
use arrow::ipc::reader::FileReader;
use arrow::json::ReaderBuilder as JsonReader;
use arrow::json::reader::infer_json_schema_from_seekable;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tcpexp_metrics::compare::Measure;

use crate::frame::{Frame, Series};
use crate::schema::{SCHEMA_NAME, check_schema};
use crate::writer::BATCH_ROWS;
use crate::{Error, Format};

/// A table in a file, from which single columns can be read.
pub struct TableFile {
    format: Format,
    file: File,
    schema: SchemaRef,
}

impl TableFile {
    /// Opens a table; the first bytes of the file give the format.
    pub fn open(mut file: File) -> Result<Self, Error> {
        let mut start = [0; 16];
        let filled = fill(&mut file, &mut start).map_err(Error::unread)?;
        let format = format_of(&start[..filled]).ok_or(Error::NoTable)?;
        let schema = schema_of(format, &mut file)?;
        check_schema(&schema)?;
        Ok(Self {
            format,
            file,
            schema,
        })
    }

    /// The names of the columns.
    pub fn columns(&self) -> Vec<&str> {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.name().as_str()).collect()
    }

    /// Name of the table, if a `tcpexp` command wrote it as Parquet or Arrow.
    pub fn name(&self) -> Option<&str> {
        self.schema.metadata().get(SCHEMA_NAME).map(String::as_str)
    }

    /// Reads these columns; the frame lacks the columns that the table does not have.
    pub fn read(self, columns: &[&str]) -> Result<Frame, Error> {
        let wanted: Vec<usize> = (0..)
            .zip(self.schema.fields())
            .filter(|(_, field)| columns.contains(&field.name().as_str()))
            .map(|(place, _)| place)
            .collect();
        let mut frame = Frame::default();
        for batch in self.batches(wanted)? {
            frame.append(Frame::of_batch(&batch.map_err(Error::unread)?)?)?;
        }
        Ok(frame)
    }

    fn batches(self, wanted: Vec<usize>) -> Result<Batches, Error> {
        let Self {
            format,
            file,
            schema,
        } = self;
        Ok(match format {
            Format::Parquet => {
                let builder =
                    ParquetRecordBatchReaderBuilder::try_new(file).map_err(Error::unread)?;
                let mask = ProjectionMask::roots(builder.parquet_schema(), wanted);
                let reader = builder
                    .with_projection(mask)
                    .with_batch_size(BATCH_ROWS)
                    .build()
                    .map_err(Error::unread)?;
                Box::new(reader)
            }
            Format::Arrow => {
                Box::new(FileReader::try_new(file, Some(wanted)).map_err(Error::unread)?)
            }
            Format::Csv => {
                let reader = CsvReader::new(schema)
                    .with_header(true)
                    .with_projection(wanted)
                    .build(file);
                Box::new(reader.map_err(Error::unread)?)
            }
            Format::Json => {
                // Arrow's JSON reader has no projection: it reads the fields of its schema.
                let projected = Arc::new(schema.project(&wanted).map_err(Error::unread)?);
                let reader = JsonReader::new(projected).build(BufReader::new(file));
                Box::new(reader.map_err(Error::unread)?)
            }
        })
    }
}

impl Frame {
    /// The columns of a batch.
    pub fn of_batch(batch: &RecordBatch) -> Result<Self, Error> {
        let schema = batch.schema();
        let arrays = schema.fields().iter().zip(batch.columns());
        let series: Result<Vec<_>, Error> = arrays
            .map(|(field, array)| Ok((field.name().clone(), series(field.name(), array)?)))
            .collect();
        Ok(Self::of(series?))
    }
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>;

fn fill(file: &mut File, start: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < start.len() {
        // A read may return less than the buffer holds before the end of the file.
        match file.read(&mut start[filled..])? {
            0 => break,
            more => filled += more,
        }
    }
    file.seek(SeekFrom::Start(0))?;
    Ok(filled)
}

/// Refuses a CSV file that ends within a line. Cut files of the other formats cannot be read.
pub(crate) fn require_line_end(file: &mut File) -> Result<(), Error> {
    let mut read_last = || {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        file.seek(SeekFrom::Start(0))?;
        Ok(last)
    };
    let last = read_last().map_err(Error::unread::<std::io::Error>)?;
    if matches!(last, [b'\n' | b'\r']) {
        Ok(())
    } else {
        Err(Error::CutLine)
    }
}

/// Text other than JSON may be CSV; a file with control bytes is neither.
pub(crate) fn format_of(start: &[u8]) -> Option<Format> {
    let is_text = |byte: &u8| !byte.is_ascii_control() || byte.is_ascii_whitespace();
    if start.starts_with(b"PAR1") {
        Some(Format::Parquet)
    } else if start.starts_with(b"ARROW1") {
        Some(Format::Arrow)
    } else if start.is_empty() || !start.iter().all(is_text) {
        None
    } else if start.trim_ascii_start().starts_with(b"{") {
        Some(Format::Json)
    } else {
        Some(Format::Csv)
    }
}

fn schema_of(format: Format, file: &mut File) -> Result<SchemaRef, Error> {
    let schema = match format {
        Format::Parquet => {
            let file = file.try_clone();
            let file = file.map_err(Error::unread)?;
            let builder = ParquetRecordBatchReaderBuilder::try_new(file);
            let builder = builder.map_err(Error::unread)?;
            Arc::clone(builder.schema())
        }
        Format::Arrow => {
            let file = file.try_clone();
            let file = file.map_err(Error::unread)?;
            FileReader::try_new(file, None)
                .map_err(Error::unread)?
                .schema()
        }
        Format::Csv => {
            require_line_end(file)?;
            let format = CsvFormat::default().with_header(true);
            // Without a limit of rows: a column of whole numbers may have a fraction in its last
            // row.
            let inferred = format.infer_schema(&mut *file, None);
            Arc::new(inferred.map_err(Error::unread)?.0)
        }
        Format::Json => {
            let lines = BufReader::new(&mut *file);
            let inferred = infer_json_schema_from_seekable(lines, None);
            Arc::new(inferred.map_err(Error::unread)?.0)
        }
    };
    // Inference and the clones move the position of `file`, which they share.
    file.seek(SeekFrom::Start(0)).map_err(Error::unread)?;
    Ok(schema)
}

fn series(name: &str, array: &ArrayRef) -> Result<Series, Error> {
    use DataType as T;
    let to = |target: &DataType| cast(array, target).map_err(Error::unread);
    match array.data_type() {
        T::Int8 | T::Int16 | T::Int32 | T::Int64 | T::UInt8 | T::UInt16 | T::UInt32 => {
            Ok(whole(&to(&T::Int64)?))
        }
        T::UInt64 => {
            let signed = to(&T::Int64)?;
            // Values above `i64::MAX` become null in the cast.
            if signed.null_count() == array.null_count() {
                Ok(whole(&signed))
            } else {
                Ok(real(&to(&T::Float64)?, false))
            }
        }
        // Other programs write times in other units; frames have nanoseconds.
        T::Timestamp(_, zone) => {
            let nanos = to(&T::Timestamp(TimeUnit::Nanosecond, zone.clone()))?;
            Ok(whole(&cast(&nanos, &T::Int64).map_err(Error::unread)?))
        }
        T::Duration(_) => {
            let nanos = to(&T::Duration(TimeUnit::Nanosecond))?;
            Ok(whole(&cast(&nanos, &T::Int64).map_err(Error::unread)?))
        }
        T::Float16 | T::Float32 | T::Float64 | T::Decimal128(..) => {
            Ok(real(&to(&T::Float64)?, may_be_infinite(name)))
        }
        T::Boolean | T::Utf8 | T::LargeUtf8 | T::Utf8View | T::Dictionary(..) | T::Null => {
            let texts = to(&T::Utf8)?;
            let texts = texts.as_string::<i32>();
            // JSON has no type for times.
            Ok(times(texts).unwrap_or_else(|| Series::texts(texts)))
        }
        other => Err(Error::CellType {
            column: name.to_owned(),
            cells: other.to_string(),
        }),
    }
}

/// The nanoseconds since 1970 of texts that are all dates and times.
fn times(texts: &StringArray) -> Option<Series> {
    let first = texts.iter().flatten().next()?;
    // `2026-01-01T00:00:00Z` and longer: a first look spares other columns the parser.
    if first.len() < 20 || first.as_bytes()[10] != b'T' {
        return None;
    }
    let times = cast(texts, &DataType::Timestamp(TimeUnit::Nanosecond, None)).ok()?;
    let are_all_times = times.null_count() == texts.null_count();
    let nanos = cast(&times, &DataType::Int64).ok()?;
    are_all_times.then(|| whole(&nanos))
}

fn whole(array: &ArrayRef) -> Series {
    Series::Whole(array.as_primitive::<Int64Type>().iter().collect())
}

/// True for the columns of a comparison in which infinity stands for a goal that was never reached.
fn may_be_infinite(name: &str) -> bool {
    let with_bounds = Measure::ALL.into_iter().filter(|one| one.has_bounds());
    with_bounds
        .flat_map(Measure::bound_names)
        .any(|bound| bound == name)
}

/// Non-finite values become null, but infinite ones stay if the column may have them.
fn real(array: &ArrayRef, may_be_infinite: bool) -> Series {
    let is_number = |number: &f64| number.is_finite() || may_be_infinite && number.is_infinite();
    let numbers = array.as_primitive::<Float64Type>().iter();
    Series::Real(numbers.map(|number| number.filter(is_number)).collect())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use arrow::array::{
        BooleanArray, Float64Array, Int64Array, StringArray, TimestampNanosecondArray, UInt64Array,
    };
    use arrow::datatypes::{Field, Schema};

    use super::*;
    use crate::TableWriter;
    use crate::frame::Cell::{Null, Real, Text, Whole};
    use crate::schema::{SCHEMA_VERSION, TABLE_VERSION, time_type};

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        file
    }

    fn batch(large: u64) -> RecordBatch {
        let fields = [
            ("cc", DataType::Utf8),
            ("rtt_ns", DataType::Int64),
            ("score", DataType::Float64),
            ("bytes", DataType::UInt64),
            ("undone", DataType::Boolean),
        ];
        let fields = fields.map(|(name, kind)| Field::new(name, kind, true));
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from(vec![Some("reno"), None])),
            Arc::new(Int64Array::from(vec![Some(40_000_000), Some(-5)])),
            Arc::new(Float64Array::from(vec![Some(0.5), None])),
            Arc::new(UInt64Array::from(vec![Some(large), None])),
            Arc::new(BooleanArray::from(vec![Some(true), None])),
        ];
        RecordBatch::try_new(Arc::new(Schema::new(fields.to_vec())), arrays).unwrap()
    }

    fn written(format: Format, batch: &RecordBatch) -> File {
        let mut table = TableWriter::new(format, &batch.schema(), Vec::new()).unwrap();
        table.write(batch).unwrap();
        file(&table.finish().unwrap())
    }

    #[test]
    fn columns_read_back_by_name_from_each_format() {
        for format in Format::ALL {
            let table = TableFile::open(written(format, &batch(7))).unwrap();
            assert_eq!(table.columns().len(), 5, "{format}");
            let wanted = ["bytes", "cc", "undone", "score", "rtt_ns", "not there"];
            let frame = table.read(&wanted).unwrap();
            assert_eq!(frame.rows(), 2);
            let row = |row| {
                ["cc", "rtt_ns", "score", "bytes", "undone"]
                    .map(|name| frame.column(name).unwrap().cell(row))
            };
            let first = [
                Text("reno"),
                Whole(40_000_000),
                Real(0.5),
                Whole(7),
                Text("true"),
            ];
            assert_eq!(row(0), first, "{format}");
            assert_eq!(row(1), [Null, Whole(-5), Null, Null, Null], "{format}");
            assert_eq!(frame.column("not there"), None);
        }
    }

    #[test]
    fn numbers_beyond_the_integer_range_are_kept() {
        let table = TableFile::open(written(Format::Parquet, &batch(u64::MAX))).unwrap();
        let frame = table.read(&["bytes"]).unwrap();
        let bytes = frame.column("bytes").unwrap().number(0);
        assert_eq!(bytes, Some(u64::MAX as f64));
    }

    #[test]
    fn times_read_back_exactly_from_each_format() {
        let times = [1_767_225_609_000_000_000, 1_767_225_609_123_456_789, -1];
        let array = TimestampNanosecondArray::from_iter([Some(times[0]), None, Some(times[1])]);
        let other = TimestampNanosecondArray::from_iter_values([times[2]; 3]);
        let arrays: [ArrayRef; 2] = [
            Arc::new(array.with_timezone("UTC")),
            Arc::new(other.with_timezone("UTC")),
        ];
        let fields = ["time", "early"].map(|name| Field::new(name, time_type(), true));
        let schema = Arc::new(Schema::new(fields.to_vec()));
        let batch = RecordBatch::try_new(schema, arrays.to_vec()).unwrap();
        for format in Format::ALL {
            let table = TableFile::open(written(format, &batch)).unwrap();
            let frame = table.read(&["time", "early"]).unwrap();
            let read = Series::Whole(vec![Some(times[0]), None, Some(times[1])]);
            assert_eq!(frame.column("time"), Some(&read), "{format}");
            let read = Series::Whole(vec![Some(-1); 3]);
            assert_eq!(frame.column("early"), Some(&read), "{format}");
        }
    }

    #[test]
    fn a_table_of_another_version_is_refused() {
        let old = [(SCHEMA_VERSION.to_owned(), "1".to_owned())];
        let fields = vec![Field::new("time_ns", DataType::Int64, false)];
        let schema = Arc::new(Schema::new_with_metadata(fields, old));
        for format in [Format::Parquet, Format::Arrow] {
            let table = TableWriter::new(format, &schema, Vec::new()).unwrap();
            let error = TableFile::open(file(&table.finish().unwrap())).err();
            insta::allow_duplicates! {
                insta::assert_snapshot!(error.unwrap(), @"the table has version 1, but this tcpexp reads version 2: write the table again from its captures or logs");
            }
        }
    }

    #[test]
    fn a_table_with_two_columns_of_one_name_is_refused() {
        let version = [(SCHEMA_VERSION.to_owned(), TABLE_VERSION.to_string())];
        let field = Field::new("rtt_ns", DataType::Float32, false);
        let schema = Arc::new(Schema::new_with_metadata(
            vec![field.clone(), field],
            version,
        ));
        for format in [Format::Parquet, Format::Arrow] {
            let table = TableWriter::new(format, &schema, Vec::new()).unwrap();
            let error = TableFile::open(file(&table.finish().unwrap())).err();
            assert_eq!(
                error.unwrap().to_string(),
                "the table has two columns rtt_ns"
            );
        }
    }

    #[test]
    fn a_file_that_is_not_a_table_is_refused() {
        for bytes in [&b""[..], &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0]] {
            let error = TableFile::open(file(bytes)).err().unwrap();
            assert_eq!(
                error.to_string(),
                "not a table: neither Parquet, Arrow, CSV nor JSON"
            );
        }
        assert!(TableFile::open(file(b"PAR1 and no more")).is_err());
    }

    #[test]
    fn only_bounds_of_a_measure_may_be_infinite() {
        let names = ["completion_median_most_s", "completion_median_s", "rtt_ms"];
        for name in names {
            let infinite: ArrayRef = Arc::new(Float64Array::from(vec![f64::INFINITY, f64::NAN]));
            let found = series(name, &infinite).unwrap();
            let expected = (name == names[0]).then_some(f64::INFINITY);
            assert_eq!([found.number(0), found.number(1)], [expected, None]);
        }
    }
}
