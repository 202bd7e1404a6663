//! The table of `tcpexp score`: a row per metric and subset.

use std::net::SocketAddr;
use std::sync::Arc;

use tcpexp_logs::score::ScoreRow;

use crate::columns::Columns;

/// One metric of the comparison between a reconstruction and the ground truth.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredRow {
    /// The file of the reconstruction.
    pub reconstructed: Arc<str>,
    /// The file of the ground truth; several files are separated by commas.
    pub truth: Arc<str>,
    /// Addresses and ports of the sender and the receiver.
    pub ends: Option<(SocketAddr, SocketAddr)>,
    /// True if the reconstruction contains the sender.
    pub is_reconstructed: bool,
    /// The metric and its values.
    pub row: ScoreRow,
}

/// The columns of `tcpexp score`.
pub fn score_columns() -> Columns<ScoredRow> {
    Columns::named("score")
        .text("reconstructed", "The file of the reconstruction, as it was named; of losses the two captures, with a comma between.", |row: &ScoredRow| Arc::clone(&row.reconstructed))
        .text("truth", "The file of the truth, as it was named; several with commas between.", |row| Arc::clone(&row.truth))
        .maybe_text("sender", "Address and port of the sender. Null where no side names it.", |row| Some(row.ends?.0.to_string()))
        .maybe_text("receiver", "Address and port of the receiver. Null where no side names it.", |row| Some(row.ends?.1.to_string()))
        .flag("is_reconstructed", "Whether this sender is in the reconstruction at all; if not, nothing matches.", |row| row.is_reconstructed)
        .text("metric", "What the number is, with its unit last: _ratio is a share of 1, an error relative to the truth or a part of what there is; _segments and _ms are differences. An error is a mean of absolute errors unless its name says median.", |row| row.row.metric)
        .text("subset", "Of which rows of the truth: all, or those whose window is known in one way (cwnd_source); not_filled are those where application or receiver limit the sender. Of a threshold, after which kind of recovery.", |row| row.row.subset)
        .count("matched", "True values that an estimate was found for. Of an excess, the estimate itself.", |row| row.row.matched)
        .count("truth_count", "True values there are. Of an excess, the truth itself; of epoch_precision_ratio and loss_precision_ratio, the epochs or losses found.", |row| row.row.truth)
        .maybe_float("value", "The number, over those matched. Null where nothing could be compared.", |row| row.row.value)
        .maybe_count("flight_size_matched", "True values that a flight size was found for. Null where the flight size is no rival.", |row| row.row.flight_size_matched)
        .maybe_float("flight_size_value", "The same number for what is read off without a reconstruction, the flight size taken for the window. Null where it is no rival.", |row| row.row.flight_size_value)
        .done()
}
