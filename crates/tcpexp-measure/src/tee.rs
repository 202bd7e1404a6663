//! A tee: passes packets to a second listener.

use std::num::NonZeroUsize;

use tcpexp_flow::{FlowTable, Packets, Sighted};

/// Calls `listener` with each packet before the packet is shown, for a second measurement in the
/// same pass.
pub struct Tee<'a, P, L> {
    packets: &'a mut P,
    listener: L,
}

impl<'a, P: Packets, L: FnMut(&Sighted<'_>) + Send> Tee<'a, P, L> {
    /// Creates a tee of `packets` for `listener`.
    pub fn new(packets: &'a mut P, listener: L) -> Self {
        Self { packets, listener }
    }
}

impl<P: Packets, L: FnMut(&Sighted<'_>) + Send> Packets for Tee<'_, P, L> {
    fn show(&mut self, count: usize, mut each: impl FnMut(&Sighted<'_>)) -> usize {
        let listener = &mut self.listener;
        self.packets.show(count, |sighted| {
            listener(sighted);
            each(sighted);
        })
    }

    fn max_flows(&self) -> NonZeroUsize {
        self.packets.max_flows()
    }

    fn table(&mut self) -> FlowTable {
        self.packets.table()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcpexp_testkit::scripted::Scripted;

    #[test]
    fn listener_and_reader_see_the_same_packets() {
        let mut packets = Scripted::new("0.1 > udp 1\n0.2 > udp 2\n0.3 > udp 3");
        let (mut teed, mut seen) = (Vec::new(), Vec::new());
        let mut tee = Tee::new(&mut packets, |sighted| teed.push(sighted.at));
        while tee.show(2, |sighted| seen.push(sighted.at)) > 0 {}
        assert_eq!((teed.len(), teed), (3, seen));
    }
}
