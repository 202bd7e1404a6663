//! DCTCP's estimate of the share of marked packets (RFC 8257, section 3.3).

use crate::StreamOffset;

/// The weight g of a new observation (RFC 8257, section 4.2), also that of TCP Prague.
const GAIN: f64 = 1.0 / 16.0;

/// The estimate α, a moving average over windows of data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alpha {
    value: f64,
    /// `DCTCP.WindowEnd`; `None` before the first ACK.
    window_end: Option<StreamOffset>,
    acked: u64,
    marked: u64,
    windows: u64,
}

impl Default for Alpha {
    fn default() -> Self {
        Self {
            value: 1.0,
            window_end: None,
            acked: 0,
            marked: 0,
            windows: 0,
        }
    }
}

impl Alpha {
    /// Processes an ACK of all data before `una`. It newly acknowledges `acked` packets, and reports
    /// that `marked` of them had CE. The sender has sent all data before `nxt`.
    pub(crate) fn on_ack(&mut self, una: StreamOffset, nxt: StreamOffset, acked: u64, marked: u64) {
        self.acked += acked;
        self.marked += marked.min(acked);
        if self.window_end.is_some_and(|end| una <= end) {
            return;
        }
        self.window_end = Some(nxt.max(una));
        if self.acked > 0 {
            let share = self.marked as f64 / self.acked as f64;
            self.value += GAIN * (share - self.value);
            self.windows += 1;
        }
        (self.acked, self.marked) = (0, 0);
    }

    /// The estimate; `None` before the first window.
    pub(crate) fn value(&self) -> Option<f64> {
        (self.windows > 0).then_some(self.value)
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_wire::SeqNum;

    use super::*;

    #[test]
    fn estimate_is_a_moving_average_over_windows() {
        let place = |packets: u32| StreamOffset::first(SeqNum(0)).plus(packets * 1_000);
        let mut alpha = Alpha::default();
        assert_eq!(alpha.value(), None);
        // Windows of ten packets, acknowledged two at a time; one of two packets is marked.
        for acked in (2..=40).step_by(2) {
            alpha.on_ack(place(acked), place(acked + 10), 2, 1);
        }
        // The first ACK ends the first window; each following one ends with the ACK beyond its end.
        let mut expected = 1.0;
        for _ in 0..4 {
            expected = expected * 15.0 / 16.0 + 0.5 / 16.0;
        }
        assert_eq!(alpha.value(), Some(expected));
    }
}
