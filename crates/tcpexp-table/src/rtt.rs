//! Round-trip time samples as rows.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use tcpexp_pair::spp::{PairedFlow, RttSample};

use crate::Error;
use crate::columns::Columns;
use crate::labels::{FlowLabel, Labelled, label_at_source_columns};
use crate::rows::RowsWriter;
use crate::writer::{BatchSink, Format};

/// The columns of `tcpexp rtt SRC DST`: a row per round-trip time between two points.
pub fn rtt_columns() -> Columns<Labelled<RttSample>> {
    label_at_source_columns(Columns::named("rtt"), |row: &Labelled<RttSample>| &row.flow)
        .name("direction", "Direction of the pair's first packet: forward (initiator to responder) or reverse.", |row| row.row.direction.name())
        .name("reference", "The measurement point where the pair starts and ends: src (first capture) or dst (second capture).", |row| row.row.reference.name())
        .time("time", "Time when the pair's first packet passed the reference point, on that point's clock.", |row| row.row.time)
        .span_twice("rtt", "Round-trip time between the two points without the turnaround, in nanoseconds. A constant clock offset cancels; detected skew is removed. Not clamped: a negative value is a finding.", |row| row.row.rtt)
        .span("turnaround_ns", "Time between the pair's two packets at the far point, in nanoseconds on that point's clock; not part of rtt_ns.", |row| row.row.turnaround)
        .span("owd_out_ns", "One-way time of the first packet from the reference point to the far one, in nanoseconds: far clock minus reference clock, so it includes the clock offset.", |row| row.row.owd_out)
        .span("owd_back_ns", "One-way time of the second packet back to the reference point, in nanoseconds: reference clock minus far clock, so it includes the clock offset with the opposite sign. owd_out_ns + owd_back_ns is rtt_ns before the skew is removed.", |row| row.row.owd_back)
        .span("rtt_error_ns", "Maximum error of rtt_ns in nanoseconds: one tick of each clock, the uncertainty of their skew over the turnaround, and any movement of the clocks by more than 20 µs that the delays of the two directions do not exclude.", |row| row.row.rtt_error)
        .done()
}

/// Writes samples as a table of [`rtt_columns`], in memory that does not grow with their number.
///
/// The bytes depend on the samples and their order, not on their division into calls.
pub struct RttWriter<W: Write + Send> {
    rows: RowsWriter<Labelled<RttSample>, W>,
    flows: HashMap<u32, Arc<FlowLabel>>,
}

impl<W: Write + Send> RttWriter<W> {
    /// Starts a table in `out`.
    pub fn new(format: Format, out: W) -> Result<Self, Error> {
        Ok(Self {
            rows: RowsWriter::new(format, rtt_columns(), out)?,
            flows: HashMap::new(),
        })
    }

    /// Starts a table of some of [`rtt_columns`], whose batches `each` takes; nothing is written to
    /// `out`.
    pub fn handing(columns: Columns<Labelled<RttSample>>, each: BatchSink, out: W) -> Self {
        Self {
            rows: RowsWriter::handing(columns, each, out),
            flows: HashMap::new(),
        }
    }

    /// Registers the endpoints of a flow; call it before the flow's first sample.
    pub fn flow(&mut self, flow: &PairedFlow) {
        let label = Arc::new(FlowLabel::of_pair(flow));
        self.flows.insert(flow.flow.0, label);
    }

    /// Removes the endpoints of a flow; call it after the flow's last sample.
    pub fn forget(&mut self, flow: &PairedFlow) {
        self.flows.remove(&flow.flow.0);
    }

    /// Appends one row per sample.
    pub fn write(&mut self, samples: &[RttSample]) -> Result<(), Error> {
        // One lookup of the label serves all adjacent samples of a flow.
        for of_flow in samples.chunk_by(|a, b| a.flow == b.flow) {
            let flow = of_flow[0].flow.0;
            let label = self.flows.get(&flow).ok_or(Error::UnknownFlow { flow })?;
            let row = |sample: &RttSample| Labelled {
                flow: Arc::clone(label),
                row: *sample,
            };
            self.rows.write(of_flow.iter().map(row))?;
        }
        Ok(())
    }

    /// Completes the table and returns its output.
    pub fn finish(self) -> Result<W, Error> {
        self.rows.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io;

    use arrow::ipc::reader::FileReader;
    use arrow::record_batch::RecordBatch;
    use insta::assert_snapshot;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use parquet::basic::Encoding;
    use tcpexp_flow::Protocol;

    use super::*;
    use crate::testdata::{flow, sample};
    use crate::writer::{plain_text, with_plain_text};

    fn table(format: Format, samples: &[RttSample], chunk: usize) -> Vec<u8> {
        let mut table = RttWriter::new(format, Vec::new()).unwrap();
        table.flow(&flow(
            0,
            Protocol::Tcp,
            "172.16.10.3:47652",
            "172.16.11.2:5201",
        ));
        table.flow(&flow(
            1,
            Protocol::Udp,
            "[2001:db8::1]:443",
            "[2001:db8::2]:50000",
        ));
        for chunk in samples.chunks(chunk) {
            table.write(chunk).unwrap();
        }
        table.finish().unwrap()
    }

    fn text(format: Format, samples: &[RttSample]) -> String {
        String::from_utf8(table(format, samples, 1)).unwrap()
    }

    fn two_samples() -> [RttSample; 2] {
        [sample(0, 0), sample(1, 1)]
    }

    /// More samples than fit into one batch.
    fn many_samples() -> Vec<RttSample> {
        (0..70_000)
            .map(|index| sample(u32::from(index % 2000 >= 1000), index))
            .collect()
    }

    #[test]
    fn csv_has_a_header_and_a_line_per_sample() {
        assert_snapshot!(text(Format::Csv, &two_samples()));
    }

    #[test]
    fn json_is_one_object_per_line() {
        let json = text(Format::Json, &two_samples());
        for line in json.lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
        assert_snapshot!(json);
    }

    #[test]
    fn a_table_without_samples_has_its_columns() {
        let names: Vec<_> = rtt_columns()
            .schema()
            .fields()
            .iter()
            .map(|f| f.name().clone())
            .collect();
        assert_eq!(text(Format::Csv, &[]), names.join(",") + "\n");
        assert_eq!(text(Format::Json, &[]), "");
        assert_eq!(arrow_batches(table(Format::Arrow, &[], 1)), []);
        assert_eq!(parquet_rows(&table(Format::Parquet, &[], 1)), None);
    }

    #[test]
    fn bytes_do_not_depend_on_batch_sizes() {
        let samples = many_samples();
        for format in Format::ALL {
            let whole = table(format, &samples, samples.len());
            for chunk in [1, 777] {
                assert!(
                    table(format, &samples, chunk) == whole,
                    "{format}, {chunk} at a time"
                );
            }
        }
    }

    fn arrow_batches(file: Vec<u8>) -> Vec<RecordBatch> {
        let reader = FileReader::try_new(io::Cursor::new(file), None).unwrap();
        assert_eq!(*reader.schema(), plain_text(&rtt_columns().schema()));
        reader.map(Result::unwrap).collect()
    }

    fn parquet_rows(file: &[u8]) -> Option<RecordBatch> {
        let reader = ParquetRecordBatchReaderBuilder::try_new(stored(file)).unwrap();
        assert_eq!(reader.schema(), &rtt_columns().schema());
        let rows = reader.with_batch_size(1 << 20).build().unwrap().next()?;
        Some(rows.unwrap())
    }

    /// The Parquet reader needs a file, or a type from a crate outside the dependencies.
    fn stored(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn parquet_and_arrow_read_back_as_the_same_rows() {
        let samples = many_samples();
        let arrow = arrow_batches(table(Format::Arrow, &samples, 1000));
        let arrow = arrow::compute::concat_batches(&arrow[0].schema(), &arrow).unwrap();
        let parquet = parquet_rows(&table(Format::Parquet, &samples, 1000)).unwrap();
        let parquet = with_plain_text(&parquet).unwrap();
        assert_eq!(arrow.num_rows(), samples.len());
        assert!(arrow.columns() == parquet.columns());
    }

    #[test]
    fn parquet_stores_times_as_deltas_and_names_once() {
        let file = table(Format::Parquet, &many_samples(), 1000);
        let reader = ParquetRecordBatchReaderBuilder::try_new(stored(&file)).unwrap();
        let metadata = reader.metadata();
        for column in metadata.row_group(0).columns() {
            let name = column.column_path().string();
            let encodings: Vec<_> = column.encodings().collect();
            let delta = encodings.contains(&Encoding::DELTA_BINARY_PACKED);
            let is_time = name == "time" || name.ends_with("_ns");
            assert_eq!(delta, is_time, "{name}: {encodings:?}");
            let is_number = is_time || name.ends_with("_ms");
            let has_dictionary = column.dictionary_page_offset().is_some();
            assert_eq!(has_dictionary, !is_number, "{name}");
            let is_text = has_dictionary && name != "flow_id";
            assert_eq!(column.statistics().is_some(), !is_text, "{name}");
        }
        let footer = metadata.file_metadata().key_value_metadata().unwrap();
        let name = footer
            .iter()
            .find(|entry| entry.key == "tcpexp.schema")
            .unwrap();
        assert_eq!(name.value.as_deref(), Some("rtt"));
    }

    #[test]
    fn a_sample_of_an_unknown_flow_is_an_error() {
        let mut table = RttWriter::new(Format::Csv, Vec::new()).unwrap();
        let error = table.write(&[sample(7, 0)]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a sample belongs to flow 7, which was not registered"
        );
    }

    struct ClosedPipe;

    impl Write for ClosedPipe {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_recognised_in_every_format() {
        for format in Format::ALL {
            let written = RttWriter::new(format, ClosedPipe).and_then(|mut table| {
                table.flow(&flow(0, Protocol::Tcp, "10.0.0.1:1", "10.0.0.2:2"));
                table.write(&[sample(0, 0)])?;
                table.finish()
            });
            match written {
                Err(Error::Write(source)) => assert_eq!(source.kind(), io::ErrorKind::BrokenPipe),
                Err(other) => panic!("{format}: {other:?}"),
                Ok(_) => panic!("{format}: nothing failed"),
            }
        }
    }
}
