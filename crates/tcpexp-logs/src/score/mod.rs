//! How far a reconstructed sender state is from the truth.
//!
//! Truth is what a kernel logged ([`import`](mod@crate::import)). Both sides tell the state when an
//! ACK arrives, before it is processed, so two rows of the same sequence numbers at the same time
//! speak of the same state; where a reconstruction knows `snd_nxt` otherwise, those of the same
//! `snd_una`. How many rows of the truth found their like is part of each score: what
//! a reconstruction does not tell must not look like what it tells rightly.
//!
//! What two captures show to be lost is scored by itself, against the bottleneck's own log.
//!
//! The window that is read off by most tools, all bytes from `snd_una` to `snd_nxt`, is scored
//! beside the estimate.
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
mod cwnd;
mod epochs;
mod errors;
mod kernel;
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
