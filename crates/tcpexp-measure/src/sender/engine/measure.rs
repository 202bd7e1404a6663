//! Measurements from each ACK: round-trip time, delivery rate, and the model of BBR.

use tcpexp_units::Timestamp;

use super::stream::{Start, Stream};
use super::{Engine, Order};
use crate::sender::event::Acked;
use crate::sender::model::{Delivery as ModelDelivery, Repairing};
use crate::sender::progress::Progress;
use crate::sender::recovery::RecoveryKind;
use crate::sender::stamps::Ticks;

impl Engine<'_> {
    pub(super) fn update_model(
        &mut self,
        at: Timestamp,
        progress: &Progress,
        prior_in_flight: u32,
        lost: u32,
    ) {
        let Some(model) = &mut self.model else {
            return;
        };
        model.deliver(&ModelDelivery {
            at,
            segments: progress.delivered,
            latest: progress.latest,
            prior_in_flight,
            in_flight: self.board.pipe(),
            lost,
            repairing: match self.state.kind() {
                Some(RecoveryKind::Fast) => Repairing::Losses,
                Some(RecoveryKind::Timeout) => Repairing::AfterTimeout,
                Some(RecoveryKind::CongestionEcho) | None => Repairing::Nothing,
            },
            smss_bytes: self.subject.side.smss_bytes,
        });
    }

    /// Samples the round-trip time as Linux does: once per ACK, never on retransmitted data. Returns true if it
    /// takes a sample.
    pub(super) fn time(&mut self, acked: &Acked, progress: &Progress, before: &Stream) -> bool {
        // The ACK may fill a hole whose first transmission the capture does not show. Then Karn's algorithm
        // allows no sample (RFC 6298, section 3): the data behind the hole may have arrived long before.
        if before.is_warming_up() {
            return false;
        }
        let syn = match before.start {
            Start::Opening(at) => Some(at),
            _ => None,
        };
        let rtt = match syn.or_else(|| progress.timed()) {
            Some(sent) => acked.at.checked_since(sent),
            // A timestamp shows which copy of retransmitted data the ACK answers
            // (`tcp_ack_update_rtt`).
            None if progress.cumulative > 0 => {
                let rtt = self.ticks.rtt(acked.at, acked.echo);
                // Congestion controls get it too.
                self.latest_rtt = rtt.or(self.latest_rtt);
                rtt
            }
            // The same holds for a retransmitted SYN (`tcp_synack_rtt_meas`).
            None => match before.start {
                Start::Reopening(at, stamp) => {
                    // A middlebox may answer the SYN by a clock of its own, so the clock of the data stays
                    // as it is.
                    let mut ticks = Ticks::new(self.subject.side.tick);
                    ticks.send(at, stamp);
                    ticks.rtt(acked.at, acked.echo.filter(|echo| *echo != 0))
                }
                _ => None,
            },
        };
        // Away from the sender, the handshake shows a part of the round-trip time.
        if let (Some(model), Some(_), Some(rtt), Order::Seen) =
            (&mut self.model, syn, rtt, self.subject.order)
        {
            model.open(acked.at, rtt);
        }
        if let Some(rtt) = rtt {
            self.timer.sample(rtt, acked.ack, before.nxt);
            self.untimed.missing.sample();
        }
        rtt.is_some()
    }

    pub(super) fn measure_delivery(&mut self, acked: &Acked) {
        let delivery = &mut self.totals.delivery;
        if self.state.is_open() && !self.board.has_sacked() && !self.gap.hides_state {
            delivery.acknowledge(acked.at, acked.ack, self.timer.srtt());
        } else {
            // The ACK fills a hole, or follows missed packets, and covers data delivered earlier.
            delivery.restart();
        }
    }
}
