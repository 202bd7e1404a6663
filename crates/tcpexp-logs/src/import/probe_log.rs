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
