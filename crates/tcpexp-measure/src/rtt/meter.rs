//! The meter of one flow, both directions.

use tcpexp_flow::{Flow, Segment};

use super::half_path::HalfPath;
use super::{SingleRttFlow, SingleRttRow};
use crate::Meter;

/// Measures the round-trip times of one TCP connection, both directions.
///
/// Flows of other protocols yield nothing. Memory grows with the segments in flight, plus 400 kB per direction of
/// a connection with tens of thousands of samples.
#[derive(Debug)]
pub struct SingleRttMeter {
    flow: Flow,
    /// By direction of the data, from the first segment on.
    paths: Option<Box<[HalfPath; 2]>>,
    captured: [bool; 2],
}

impl SingleRttMeter {
    /// Creates a meter for `flow`.
    pub fn new(flow: &Flow) -> Self {
        Self {
            flow: *flow,
            paths: None,
            captured: [false; 2],
        }
    }
}

impl Meter for SingleRttMeter {
    type Row = SingleRttRow;

    fn segment(&mut self, segment: &Segment, rows: &mut impl Extend<SingleRttRow>) {
        let flow = &self.flow;
        let paths = self.paths.get_or_insert_with(|| {
            rows.extend([SingleRttRow::Began(*flow)]);
            Box::default()
        });
        if segment.flags.rst() {
            // The sequence numbers of a reset may be forged (RFC 5961), and it answers nothing.
            return;
        }
        let direction = segment.seen.direction;
        self.captured[direction.index()] = true;
        // Process the ACK first: data in the same packet may be due to it.
        if let Some(ack) = segment.ack {
            paths[direction.opposite().index()].answer(segment, ack, flow.id, rows);
        }
        paths[direction.index()].send(segment, self.captured[direction.opposite().index()]);
    }

    fn end(&mut self, flow: &Flow, rows: &mut impl Extend<SingleRttRow>) {
        if let Some(paths) = &mut self.paths {
            rows.extend([SingleRttRow::Ended(Box::new(SingleRttFlow {
                flow: *flow,
                directions: paths.each_mut().map(HalfPath::end),
            }))]);
        }
    }
}
