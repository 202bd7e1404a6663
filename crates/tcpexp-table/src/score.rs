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
        .text("reconstructed", "File of the reconstruction, as given on the command line; for losses the two captures, separated by a comma.", |row: &ScoredRow| Arc::clone(&row.reconstructed))
        .text("truth", "File of the truth, as given on the command line; several files are separated by commas.", |row| Arc::clone(&row.truth))
        .maybe_text("sender", "Address and port of the sender. Null if neither side names it.", |row| Some(row.ends?.0.to_string()))
        .maybe_text("receiver", "Address and port of the receiver. Null if neither side names it.", |row| Some(row.ends?.1.to_string()))
        .flag("is_reconstructed", "Whether the reconstruction contains this sender; if not, nothing matches.", |row| row.is_reconstructed)
        .text("metric", "Name of the number, with its unit last: _ratio is a fraction (a relative error or a share); _segments and _ms are differences. An error is a mean of absolute errors unless its name says median.", |row| row.row.metric)
        .text("subset", "Rows of the truth: all, or those with one cwnd_source; not_filled are those where application or receiver limits the sender. For a threshold, the kind of recovery before it.", |row| row.row.subset)
        .count("matched", "True values with an estimate. For an excess, the estimate itself.", |row| row.row.matched)
        .count("truth_count", "Number of true values. For an excess, the truth itself; for epoch_precision_ratio and loss_precision_ratio, the epochs or losses found.", |row| row.row.truth)
        .maybe_float("value", "The value of the metric over the matched values. Null if nothing could be compared.", |row| row.row.value)
        .maybe_count("flight_size_matched", "True values with a flight size. Null if the flight size is not an alternative estimate.", |row| row.row.flight_size_matched)
        .maybe_float("flight_size_value", "The same number with the flight size as estimate, without a reconstruction. Null if the flight size is not an alternative estimate.", |row| row.row.flight_size_value)
        .done()
}
