//! The table of named congestion controls.

use tcpexp_measure::naming::{Named, SlowStartExit, Unnamed};

use crate::columns::{Builder, Columns};
use crate::labels::{Labelled, SenderLabel, sender_label_columns};

/// A named sender.
pub type ControlRow = Labelled<Named, SenderLabel>;

/// The columns of the table that `--control-table` of `cwnd` and `flows` writes.
pub fn control_columns() -> Columns<ControlRow> {
    let columns = sender_label_columns(Columns::named("controls"), |row: &ControlRow| &row.flow)
        .name("direction", "Direction of the sender's data: forward (initiator to responder) or reverse.", |row| row.row.direction.name())
        .maybe_text("control", "Congestion control by its name in Linux: the only one whose rules, replayed on what the sender saw, give the windows of the sender, or for bbr its pacing. A sender named reno may also be TCP-LP (lp), which sends the same until it backs off. Null if not certain; the column reason states why.", |row| Some(row.row.answer.ok()?.name()))
        .maybe_float("confidence", "Probability that control is right, by the odds against all others and by how well its rules fit; at most 0.99, because 5 of 782 answers on the development paths were wrong. That of bbr is 0.99 by its pacing, 0.9 by its probes of the round-trip time alone. TCP-LP, which sends the same as Reno until it backs off, is taken to be 20 times as rare. Null without a control.", |row| row.row.confidence)
        .maybe_text("source", "Where the rules of the control are written down: RFC or paper, and the file in Linux. Null without a control.", |row| Some(row.row.answer.ok()?.source()))
        .maybe_text("reason", "Why the control is not certain: not_seen (the sender's order of events is unknown), paced (the sender paces its packets, but not as BBR does), receiver_limited, application_limited, too_short (fewer than 20 round trips in congestion avoidance with a full window), delay_not_seen (the control that fits depends on round-trip times, and the capture, which is not the sender's, does not show most of them), several_fit or none_fits. Null with a control.", |row| row.row.answer.err().map(Unnamed::name))
        .maybe_text("candidates", "Controls that are not ruled out, the best first, separated by spaces. Null if none fits, and if nothing was compared.", |row| candidates(&row.row));
    evidence(fits(columns)).done()
}

/// Adds the errors of the two best candidates.
fn fits(columns: Builder<ControlRow>) -> Builder<ControlRow> {
    columns
        .maybe_name("best", "Control whose rules are nearest to the windows of the sender. Null if nothing was compared.", |row| row.row.fits.first().map(|fit| fit.control.name()))
        .maybe_float("best_growth_error", "Mean error of the windows that `best` predicts, once per round trip: the difference beyond one segment of rounding, divided by the uncertainty of an observed window (1 segment and 2 % of the window). At most 4. Null if nothing was compared.", |row| row.row.fits.first()?.growth)
        .maybe_float("best_reduction_error", "Mean error of the reductions that `best` predicts, in the same unit. Null if no reduction of a full window was seen.", |row| row.row.fits.first()?.reductions)
        .maybe_name("second", "Second nearest control. Null if nothing was compared.", |row| row.row.fits.get(1).map(|fit| fit.control.name()))
        .maybe_float("second_growth_error", "Mean error of the windows that `second` predicts, as in best_growth_error. Null if nothing was compared.", |row| row.row.fits.get(1)?.growth)
        .maybe_float("second_reduction_error", "Mean error of the reductions that `second` predicts, in the same unit. Null if no reduction of a full window was seen.", |row| row.row.fits.get(1)?.reductions)
        .maybe_float("second_log_odds", "Natural logarithm of the odds of best against second, by how exactly their rules give the windows. At 4 or more, second is ruled out. It is also ruled out by a mean error of at least 1, or if it would have cut the window where nothing happened. Null if nothing was compared.", |row| Some(row.row.fits.get(1)?.log_odds))
}

/// Adds what the answer rests on.
fn evidence(columns: Builder<ControlRow>) -> Builder<ControlRow> {
    columns
        .count("acks", "ACKs that reached the sender.", |row| row.row.evidence.acks)
        .count("rounds", "Round trips in congestion avoidance whose windows were compared.", |row| row.row.evidence.rounds.into())
        .count("reductions", "Reductions of a full window at losses or congestion echoes that were compared.", |row| row.row.evidence.reductions.into())
        .count("lossless_cuts", "Cuts of a full window without a loss or a congestion echo.", |row| row.row.evidence.lossless_cuts.into())
        .count("echo_reductions", "Reductions in response to congestion echoes (ECN).", |row| row.row.evidence.echo_reductions.into())
        .maybe_float("filled_percent", "Share of the ACKs that found the congestion window full, or a recovery, in percent. Null without ACKs.", |row| filled_percent(&row.row))
        .maybe_id("initial_window_segments", "Segments in the network when the first full segment was acknowledged: the initial window, or less if the application had less to send, or more if acknowledgments of smaller segments had grown it. Null without one, and if the capture began later.", |row| row.row.evidence.initial_window_segments)
        .maybe_text("slow_start_exit", "How the first slow start ended: loss, or delay (without a loss, as with HyStart and Vegas). Null if it did not end in the capture.", |row| row.row.evidence.slow_start_exit.map(SlowStartExit::name))
        .flag("is_paced", "Whether most bursts of data leave without an ACK just before, as if by a timer.", |row| row.row.evidence.paced > 0)
}

fn candidates(row: &Named) -> Option<String> {
    let names: Vec<&str> = row
        .candidates
        .iter()
        .map(|control| control.name())
        .collect();
    (!names.is_empty()).then(|| names.join(" "))
}

fn filled_percent(named: &Named) -> Option<f64> {
    let evidence = &named.evidence;
    (evidence.acks > 0).then(|| evidence.filled as f64 * 100.0 / evidence.acks as f64)
}
