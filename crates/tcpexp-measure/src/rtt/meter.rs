//! Both directions of one flow.

use tcpexp_flow::{Flow, Segment};

use super::half_path::HalfPath;
use super::{SingleRttFlow, SingleRttRow};
use crate::Meter;

/// Measures the round-trip times of one TCP connection, both directions.
///
/// UDP flows yield nothing. Memory follows the segments in flight, and 400 kB a direction of a
/// connection that has given tens of thousands of samples.
#[derive(Debug)]
pub struct SingleRttMeter {
    flow: Flow,
    /// By direction of the data, from the first segment on.
    paths: Option<Box<[HalfPath; 2]>>,
    heard: [bool; 2],
}

impl SingleRttMeter {
    /// A meter for `flow`, of which nothing has been measured yet.
    pub fn new(flow: &Flow) -> Self {
        Self {
            flow: *flow,
            paths: None,
            heard: [false; 2],
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
            // Its numbers may be made up (RFC 5961), and it answers nothing.
            return;
        }
        let way = segment.seen.direction;
        self.heard[way.index()] = true;
        // An ACK first: data in the same packet may be due to it.
        if let Some(ack) = segment.ack {
            paths[way.opposite().index()].answer(segment, ack, flow.id, rows);
        }
        paths[way.index()].send(segment, self.heard[way.opposite().index()]);
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
