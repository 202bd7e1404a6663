//! For tests only: trace scripts, a capture writer and a path simulator with known truth.
#![allow(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "test code: a panic is a failed test and says why"
)]
#![allow(
    clippy::cast_possible_truncation,
    reason = "header fields are narrower than what they are cut from, and wrap"
)]

mod checksum;
mod frame;
mod options;
mod payload;
mod prng;
pub mod script;
mod simulator;
mod writer;

pub use frame::{FrameSpec, Framing, Transport, flag};
pub use options::TcpOptions;
pub use payload::Payload;
pub use prng::Prng;
pub use simulator::{
    CaptureSpec, ClockStep, Congestion, Direction, DirectionTotals, Fate, FlowTruth, IpId,
    IpVersion, PacketId, PacketTruth, Path, Point, Scenario, Sighting, Sightings, Summary, TcpLoad,
    Truth, TwoCaptures, UdpLoad, UdpPayload, simulate, simulate_into,
};
pub use writer::{CaptureWriter, Container, Endian, Interface, Resolution};
