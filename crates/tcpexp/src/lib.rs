//! The library: captures in, results out.

mod compat;
mod error;
mod info;
mod recording;
mod rtt;

pub use compat::spp_pairs;
pub use error::Error;
pub use info::CaptureInfo;
pub use recording::{Recording, Walk};
pub use rtt::{RttOptions, RttReport, rtt};

pub use tcpexp_capture as capture;
pub use tcpexp_chart as chart;
pub use tcpexp_flow as flow;
pub use tcpexp_measure as measure;
pub use tcpexp_table as table;
pub use tcpexp_units as units;
pub use tcpexp_wire as wire;
