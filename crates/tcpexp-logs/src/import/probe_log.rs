//! `tcp_probe` in any of its formats.

use tcpexp_units::TimeDelta;

use super::error::{LineUse, Unusable};
use super::flows::Flows;
use super::header::Header;
use super::rows::Batch;
use super::{probe_columns, probe_events, probe_losses};

/// Context that earlier lines give for later ones.
#[derive(Clone, Debug, Default)]
pub(super) struct ProbeLog {
    /// The columns of a CSV.
    header: Option<Header>,
    /// Offset of the event clock to UTC; 0 until a mark states it.
    ahead: TimeDelta,
    /// Lines with an event.
    pub(super) event_lines: u64,
}

impl ProbeLog {
    /// Reads one line.
    pub(super) fn line(
        &mut self,
        text: &str,
        flows: &mut Flows,
        batch: &mut Batch,
    ) -> Result<LineUse, Unusable> {
        if probe_columns::is_header(text) {
            self.header = Some(Header::of(text));
            return Ok(LineUse::PassedOver);
        }
        // A CSV has only rows after its header, so no row is tried as an event or a mark.
        if let Some(header) = &self.header {
            probe_columns::row(text, header, flows, batch)?;
        } else if let Some(ahead) = probe_events::clock_ahead(text) {
            self.ahead = ahead;
            return Ok(LineUse::PassedOver);
        } else if probe_events::has_event(text) {
            probe_events::line(text, self.ahead, flows, batch)?;
            self.event_lines += 1;
        } else if let Some(lost) = probe_losses::lost(text) {
            batch.lost_events += lost;
            // A change of state may be among them.
            flows.forget_states();
            return Ok(LineUse::PassedOver);
        } else {
            probe_columns::proc_line(text, flows, batch)?;
        }
        Ok(LineUse::Used)
    }
}

#[cfg(test)]
mod tests {
    use crate::import::Format;
    use crate::import::log::{lines, read};

    #[test]
    fn only_a_trace_has_lines_with_events() {
        let events = |log: &str| read(Format::TcpProbe, &lines(log)).1.event_lines;
        let probe = "x-1 [0] . 1.7: tcp_probe: src=10.0.0.1:4 dest=10.0.0.2:5 snd_nxt=0x9 snd_una=1 snd_cwnd=20 ssthresh=14 snd_wnd=9 srtt=0";
        assert_eq!(events(probe), 1);
        let proc_file = "1.000000123 10.0.0.1:4 10.0.0.2:5 1480 0x4424095 0x4420805 10 2147483647 65160 400 64512";
        assert_eq!(events(proc_file), 0);
        let csv = "time,src,dst,snd_nxt,snd_una,snd_cwnd,ssthresh,snd_wnd,srtt_us
            1.5,10.0.0.1:4,10.0.0.2:5,10,5,30,40,65160,40040";
        assert_eq!(events(csv), 0);
    }
}
