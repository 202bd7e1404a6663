//! Reading of sender state tables.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

use tcpexp_flow::{Direction, FlowId, Protocol, SeqNum, StreamOffset};
use tcpexp_measure::sender::{CwndSource, Limit, Phase, SenderSample};
use tcpexp_pair::spp::Point;
use tcpexp_units::TimeDelta;

use crate::known_columns::{Cells, each_row};
use crate::labels::{Labelled, SenderLabel};
use crate::sender::{SenderSampleRow, sender_columns};
use crate::{Error, Format};

/// Detects a table of sender state and its format from the first bytes of a file.
pub fn table_format(start: &[u8]) -> Option<Format> {
    let is = |magic: &[u8]| start.starts_with(magic);
    [
        (is(b"PAR1"), Format::Parquet),
        (is(b"ARROW1"), Format::Arrow),
        (is(b"flow_id,protocol,"), Format::Csv),
        (is(b"{\"flow_id\":"), Format::Json),
    ]
    .into_iter()
    .find_map(|(is_it, format)| is_it.then_some(format))
}

/// Reads a table written with [`sender_columns`]; further columns are ignored.
pub fn read_senders(format: Format, file: File) -> Result<Vec<SenderSampleRow>, Error> {
    let mut rows = Rows::default();
    each_row(format, file, &sender_columns().schema(), |cells| {
        rows.row(cells)
    })?;
    Ok(rows.read)
}

/// Rows read so far.
#[derive(Default)]
struct Rows {
    read: Vec<SenderSampleRow>,
    /// Of each sender: with two captures, the two directions of a flow come from different ones.
    labels: HashMap<(FlowId, Direction), Arc<SenderLabel>>,
    /// The latest `snd_una` of each sender, to count wraps of the sequence number.
    una: HashMap<(FlowId, Direction), StreamOffset>,
}

impl Rows {
    fn row(&mut self, cells: &Cells<'_>) -> Result<(), Error> {
        let flow = FlowId(cells.must("flow_id", Cells::id)?);
        let direction = cells.must_be("direction", &Direction::BOTH, Direction::name)?;
        let snd_una = cells.id("snd_una_seq")?.map(|una| {
            let una = match self.una.get(&(flow, direction)) {
                // The column wraps as on the wire. The nearest offset is right for less than 2 GiB
                // between two rows (RFC 9293, section 3.4).
                Some(before) => before.nearest(SeqNum(una)),
                None => StreamOffset::first(SeqNum(una)),
            };
            self.una.insert((flow, direction), una);
            una
        });
        let snd_nxt = cells.id("snd_nxt_seq")?;
        let row = SenderSample {
            at: cells.must("time", Cells::time)?,
            record: None,
            flow,
            direction,
            snd_una,
            // At most a window of 1 GiB is between the two (RFC 7323, section 2.3).
            snd_nxt: snd_nxt.map(|nxt| match self.una.get(&(flow, direction)) {
                Some(una) => una.nearest(SeqNum(nxt)),
                None => StreamOffset::first(SeqNum(nxt)),
            }),
            smss_bytes: cells.id("smss_bytes")?,
            flight_size_bytes: cells.count("flight_size_bytes")?,
            pipe_bytes: cells.count("pipe_bytes")?,
            pipe_segments: cells.id("pipe_segments")?,
            cwnd_segments: cells.id("cwnd_segments")?,
            cwnd_bytes: cells.count("cwnd_bytes")?,
            cwnd_source: cells.must_be("cwnd_source", &CwndSource::ALL, CwndSource::name)?,
            ssthresh_segments: cells.id("ssthresh_segments")?,
            phase: cells.may_be("phase", &Phase::ALL, Phase::name)?,
            recovery_epoch: cells.id("recovery_epoch")?,
            srtt: cells.signed("srtt_ns")?.map(TimeDelta::from_nanos),
            rto: cells.signed("rto_ns")?.map(TimeDelta::from_nanos),
            usable_window_bytes: cells.signed("usable_window_bytes")?,
            limit: cells.may_be("limit", &Limit::ALL, Limit::name)?,
            // No reader of a table needs the model.
            model: None,
            latest_rtt: None,
            latest_marked_packets: 0,
        };
        let label = match self.labels.get(&(flow, direction)) {
            Some(label) => Arc::clone(label),
            None => self.label(cells, flow, direction)?,
        };
        self.read.push(Labelled { flow: label, row });
        Ok(())
    }

    fn label(
        &mut self,
        cells: &Cells<'_>,
        flow: FlowId,
        direction: Direction,
    ) -> Result<Arc<SenderLabel>, Error> {
        let protocols = [Protocol::Tcp, Protocol::Udp];
        let ends = cells.end("initiator")?.zip(cells.end("responder")?);
        let label = Arc::new(SenderLabel {
            flow,
            captured: flow,
            protocol: cells.must_be("protocol", &protocols, Protocol::name)?,
            ends,
            capture: cells.may_be("capture", &Point::BOTH, Point::name)?,
        });
        self.labels.insert((flow, direction), Arc::clone(&label));
        Ok(label)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use tcpexp_units::Timestamp;

    use super::*;
    use crate::RowsWriter;

    fn rows() -> Vec<SenderSampleRow> {
        let label = |flow, ends: Option<(&str, &str)>, capture| {
            Arc::new(SenderLabel {
                flow: FlowId(flow),
                captured: FlowId(flow),
                protocol: Protocol::Tcp,
                ends: ends.map(|(from, to)| (from.parse().unwrap(), to.parse().unwrap())),
                capture,
            })
        };
        let una = StreamOffset::first(SeqNum(u32::MAX - 9));
        let at = Timestamp::from_nanos(1_767_225_609_778_130_000);
        let full = SenderSample {
            snd_una: Some(una),
            snd_nxt: Some(una.plus(30)),
            smss_bytes: Some(1448),
            flight_size_bytes: Some(30),
            pipe_bytes: Some(20),
            pipe_segments: Some(1),
            cwnd_segments: Some(10),
            cwnd_bytes: Some(14_480),
            cwnd_source: CwndSource::Filled,
            ssthresh_segments: Some(7),
            phase: Some(Phase::FastRecovery),
            recovery_epoch: Some(3),
            srtt: Some(TimeDelta::from_millis(40)),
            rto: Some(TimeDelta::from_millis(240)),
            usable_window_bytes: Some(-5),
            limit: Some(Limit::Application),
            ..SenderSample::unknown(at, FlowId(0), Direction::Reverse)
        };
        let wrapped = SenderSample {
            snd_una: Some(una.plus(20)),
            ..full
        };
        let empty = SenderSample::unknown(full.at, FlowId(1), full.direction);
        let forward = SenderSample {
            direction: Direction::Forward,
            ..full
        };
        let ends = Some(("10.0.0.1:4", "[2001:db8::2]:5"));
        let named = label(0, ends, Some(Point::Dst));
        let opposite = label(0, ends, Some(Point::Src));
        let unnamed = label(1, None, None);
        [
            (&named, full),
            (&named, wrapped),
            (&opposite, forward),
            (&unnamed, empty),
        ]
        .map(|(flow, row)| Labelled {
            flow: Arc::clone(flow),
            row,
        })
        .to_vec()
    }

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        file
    }

    #[test]
    fn written_rows_read_back_from_each_format() {
        for format in Format::ALL {
            let mut table = RowsWriter::new(format, sender_columns(), Vec::new()).unwrap();
            table.write(rows()).unwrap();
            let bytes = table.finish().unwrap();
            assert_eq!(table_format(&bytes), Some(format));
            assert_eq!(
                read_senders(format, file(&bytes)).unwrap(),
                rows(),
                "{format}"
            );
        }
    }

    #[test]
    fn further_columns_of_a_csv_file_are_ignored() {
        let mut table = RowsWriter::new(Format::Csv, sender_columns(), Vec::new()).unwrap();
        table.write(rows()).unwrap();
        let text = String::from_utf8(table.finish().unwrap()).unwrap();
        let mut lines = text.lines().zip(0..).map(|(line, number)| {
            let further = if number == 0 {
                "my,\"column, two\""
            } else {
                "x,1.5"
            };
            format!("{line},{further}\n")
        });
        let text: String = lines.by_ref().collect();
        let read = read_senders(Format::Csv, file(text.as_bytes()));
        assert_eq!(read.unwrap(), rows());
    }

    #[test]
    fn other_files_are_refused() {
        assert_eq!(table_format(b"time,src,dst,snd_nxt"), None);
        let message = |format, bytes: &[u8]| {
            let error = read_senders(format, file(bytes)).unwrap_err();
            error.to_string()
        };
        assert_eq!(
            message(Format::Arrow, b"ARROW1 and more"),
            "cannot read the table"
        );
        assert_eq!(message(Format::Parquet, b"PAR1"), "cannot read the table");
        let rtt = crate::single_rtt_columns();
        let mut table = RowsWriter::new(Format::Csv, sender_columns(), Vec::new()).unwrap();
        table.write(rows()).unwrap();
        let text = String::from_utf8(table.finish().unwrap()).unwrap();
        let wrong = text.replace(",filled,", ",guessed,");
        assert_eq!(
            message(Format::Csv, wrong.as_bytes()),
            "row 0: guessed is not a valid cwnd_source"
        );
        let mut table = RowsWriter::new(Format::Arrow, rtt, Vec::new()).unwrap();
        table.write([]).unwrap();
        let bytes = table.finish().unwrap();
        assert_eq!(read_senders(Format::Arrow, file(&bytes)).unwrap(), []);
    }
}
