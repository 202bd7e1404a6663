//! Sender state from the logs of kernels and tools.
//!
//! A log is the ground truth for a reconstruction, and the only source for an experiment without a
//! capture. [`import`] reads a log line by line and emits the same
//! [`SenderSample`](tcpexp_measure::sender::SenderSample)s that a
//! reconstruction yields, with [`CwndSource::Measured`](tcpexp_measure::sender::CwndSource::Measured):
//!
//! ```
//! use tcpexp_logs::import::{Error, Format, import};
//!
//! let log = "time,src,dst,snd_nxt,snd_una,snd_cwnd,ssthresh,snd_wnd,srtt_us
//! 12.5,10.0.0.1:40000,10.0.0.2:5201,3000,1000,10,2147483647,65160,40040
//! ";
//! let report = import(Format::TcpProbe, log.as_bytes(), |batch| {
//!     assert_eq!(batch.samples[0].cwnd_segments, Some(10));
//!     assert_eq!(batch.samples[0].flight_size_bytes, Some(2000));
//!     Ok::<_, Error>(())
//! })?;
//! assert_eq!((report.lines, report.used, report.passed_over), (2, 1, 1));
//! # Ok::<_, Error>(())
//! ```
//!
//! Each line is used, passed over because it holds no data (a header, a comment), or counted under the
//! reason why it is unusable. A file without a usable line is an error.
//!
//! Sequence numbers become [`StreamOffset`](tcpexp_flow::StreamOffset)s whose lower 32 bits equal the
//! number on the wire. Logged and reconstructed rows therefore match by
//! [`seq`](tcpexp_flow::StreamOffset::seq), whatever their offsets start from.

mod drops;
mod error;
mod fields;
mod flent;
mod flows;
mod format;
mod header;
mod iperf3;
mod iperf3_streams;
mod lines;
mod offsets;
mod probe_columns;
mod probe_events;
mod probe_log;
mod probe_losses;
mod python_json;
mod rows;
mod run;
mod siftr;
mod ss;
mod ss_model;
mod ss_sockets;
mod state;
mod tcp_info;
mod web10g;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod log;

pub use drops::LoggedDrop;
pub use error::{Entry, Error, FirstUnusable, Report, Unusable};
pub use format::Format;
pub use rows::{
    Batch, CongestionState, ImportedFlow, IntervalSample, RetransmitEvent, SenderCounters,
    SeriesSample, StateChange, TestInfo,
};
pub use run::import;
