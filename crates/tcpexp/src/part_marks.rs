//! The marks in a part of a capture: record and flow numbers of the whole.

use tcpexp_capture::{NoTime, PartHead, PartMark, Record};
use tcpexp_flow::{FlowId, FlowMark, FlowMarks, FlowTable};

/// Reads the marks of a part during a pass.
#[derive(Debug, Default)]
pub(crate) struct PartReader {
    tables: Vec<FlowMarks>,
}

impl PartReader {
    pub(crate) fn of(head: Option<&PartHead>) -> Option<Self> {
        head.map(|_| Self::default())
    }

    /// An empty flow table with the flow numbers of the whole capture.
    pub(crate) fn table(&mut self) -> FlowTable {
        let marks = FlowMarks::default();
        self.tables.push(marks.clone());
        FlowTable::default().with_marks(marks)
    }

    /// Returns the record with its number in the whole capture, and how many places later than in the file a
    /// pass over the whole capture returns it. `number` is its number in the part.
    #[cold]
    pub(crate) fn read<'r>(&self, number: u64, record: Record<'r>) -> (u64, i32, Record<'r>) {
        let Some(mark) = PartMark::read(&record.options) else {
            return (number, 0, record);
        };
        // Other records decided in the whole capture whether a time is an outlier.
        let at = match record.at {
            Ok(at) | Err(NoTime::Outlier(at)) if mark.is_outlier => Err(NoTime::Outlier(at)),
            Err(NoTime::Outlier(at)) => Ok(at),
            at => at,
        };
        if mark.begins.is_some() || !mark.ended.is_empty() {
            let begins = mark
                .begins
                .map(|(flow, before)| (FlowId(flow), before.map(FlowId)));
            let flow_mark = FlowMark {
                record: mark.record,
                begins,
                ended: mark.ended.into_iter().map(FlowId).collect(),
            };
            for table in &self.tables {
                table.push(flow_mark.clone());
            }
        }
        (mark.record, mark.moved, Record { at, ..record })
    }
}
