//! Two measurements of each flow in one pass.

use tcpexp_flow::{Datagram, Flow, Segment};

use crate::Meter;

/// Two meters of one flow that share one pass over the packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Both<A, B>(pub A, pub B);

/// A row of either measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Either<A, B> {
    /// A row of the first meter.
    First(A),
    /// A row of the second meter.
    Second(B),
}

impl<A: Meter, B: Meter> Meter for Both<A, B> {
    type Row = Either<A::Row, B::Row>;

    fn segment(&mut self, segment: &Segment, rows: &mut impl Extend<Self::Row>) {
        self.0.segment(segment, &mut Into(rows, Either::First));
        self.1.segment(segment, &mut Into(rows, Either::Second));
    }

    fn datagram(&mut self, datagram: &Datagram, rows: &mut impl Extend<Self::Row>) {
        self.0.datagram(datagram, &mut Into(rows, Either::First));
        self.1.datagram(datagram, &mut Into(rows, Either::Second));
    }

    fn end(&mut self, flow: &Flow, rows: &mut impl Extend<Self::Row>) {
        self.0.end(flow, &mut Into(rows, Either::First));
        self.1.end(flow, &mut Into(rows, Either::Second));
    }
}

/// Wraps the rows of one meter.
struct Into<'a, Rows, Wrap>(&'a mut Rows, Wrap);

impl<Row, Wrapped, Rows: Extend<Wrapped>, Wrap: Fn(Row) -> Wrapped> Extend<Row>
    for Into<'_, Rows, Wrap>
{
    fn extend<I: IntoIterator<Item = Row>>(&mut self, rows: I) {
        self.0.extend(rows.into_iter().map(&self.1));
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::flows::Connection;
    use crate::meter;
    use crate::rtt::SingleRttMeter;
    use tcpexp_testkit::scripted::Scripted;

    const TRACE: &str = "
        0.000 > S mss 1460
        0.040 < S. mss 1460
        0.041 > ack 1
        0.042 > 1:1461(1460)
        0.082 < ack 1461
        0.090 > udp 100 flow 1
    ";

    fn rows<M: Meter>(begin: impl Fn(&Flow) -> M + Sync) -> Vec<M::Row> {
        let mut all = Vec::new();
        let Ok(_) = meter(&mut Scripted::new(TRACE), begin, |rows| {
            all.extend(rows);
            Ok::<(), Infallible>(())
        });
        all
    }

    #[test]
    fn two_meters_and_a_boxed_meter_yield_the_same_rows_as_each_alone() {
        let both = rows(|flow| Both(Connection::default(), SingleRttMeter::new(flow)));
        let (mut connections, mut times) = (Vec::new(), Vec::new());
        for row in both {
            match row {
                Either::First(row) => connections.push(format!("{row:?}")),
                Either::Second(row) => times.push(format!("{row:?}")),
            }
        }
        let alone = rows(|_| Connection::default());
        let alone: Vec<_> = alone.iter().map(|row| format!("{row:?}")).collect();
        assert_eq!((connections.len(), connections), (2, alone));
        let alone = rows(SingleRttMeter::new);
        let alone: Vec<_> = alone.iter().map(|row| format!("{row:?}")).collect();
        assert_eq!(times, alone);
        assert!(times.len() > 2);
        let boxed = rows(|flow| Some(Box::new(SingleRttMeter::new(flow))));
        let boxed: Vec<_> = boxed.iter().map(|row| format!("{row:?}")).collect();
        assert_eq!(times, boxed);
    }
}
