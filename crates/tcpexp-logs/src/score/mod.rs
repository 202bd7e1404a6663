//! Errors of a reconstructed sender state against the true one.
//!
//! The truth is a kernel's log ([`import`](mod@crate::import)). Both sides record the state at the
//! arrival of an ACK, before the ACK is processed. Two rows with the same `snd_una` and `snd_nxt`
//! at about the same time therefore describe the same state; where the two sides disagree on
//! `snd_nxt`, rows are paired by `snd_una` alone. Each score includes the number of rows of the
//! truth that have a partner, so that states a reconstruction leaves out do not count as right.
//!
//! Rows with equal sequence numbers also show the offset between the clocks. A log without them is compared
//! on the assumption of one clock, and not at all if the two sides then hardly overlap ([`Clocks`]).
//!
//! Losses found between two captures are scored separately, against the drops that the bottleneck
//! logged.
//!
//! The flight size (all bytes from `snd_una` to `snd_nxt`), which most tools report as the window,
//! is scored beside the estimate.
//!
//! ```
//! use tcpexp_logs::score::{Options, Score, SenderRecord};
//!
//! fn print(reconstructed: &SenderRecord, truth: &SenderRecord) {
//!     let score = Score::of(reconstructed, truth, Options::default());
//!     for row in score.rows() {
//!         println!("{} {} {}/{} {:?}", row.metric, row.subset, row.matched, row.truth, row.value);
//!     }
//! }
//! ```

mod cause_class;
mod causes;
mod clocks;
mod cwnd;
mod epochs;
mod errors;
mod kernel;
mod logged_epochs;
mod losses;
mod named;
mod reconstructed;
mod record;
mod rows;
mod same_state;
mod sum;
mod tabled;

#[cfg(test)]
mod script;

pub use cause_class::CauseClass;
pub use causes::CauseScore;
pub use clocks::Clocks;
pub use cwnd::{Compared, CwndScore, SourceScore};
pub use epochs::EpochScore;
pub use errors::Errors;
pub use kernel::kernel_records;
pub use losses::{LossScore, Transmission};
pub use named::{NamedRecord, SenderScore, score_all};
pub use reconstructed::Reconstructed;
pub use record::{Epoch, RetransmittedAs, SenderRecord, Totals};
pub use rows::ScoreRow;
pub use sum::{Counts, Options, Score, Share};
pub use tabled::tabled_records;
