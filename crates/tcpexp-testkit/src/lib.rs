//! Test support: trace scripts, a capture writer and a path simulator with known truth.
//!
//! - [`script`] turns lines of text into packets, for tests of a few packets.
//! - [`simulate`] sends TCP flows and UDP streams over a path with two measurement points. It
//!   returns both captures and the true history of every packet.
//! - [`scripted`] shows the packets of a script to code that reads captures.
//! - [`skip`] and its relatives skip a test on a machine that lacks a program or a privilege.
//! - [`ObjectServer`] serves objects as S3 does, with faults.
//! - [`FrameSpec`] and [`CaptureWriter`] build single frames and capture files of every kind.
//!
//! ```
//! use tcpexp_testkit::{CaptureSpec, Scenario, simulate};
//! use tcpexp_units::TimeDelta;
//!
//! let captures = simulate(&Scenario {
//!     loss_ppm: 10_000,
//!     offset: TimeDelta::from_seconds(3 * 3600),
//!     src: CaptureSpec { tso_segments: 44, ..CaptureSpec::default() },
//!     ..Scenario::default()
//! });
//! let truth = &captures.truth;
//! let totals = truth.summary.forward;
//! assert_eq!(totals.sent, totals.arrived + totals.dropped + totals.lost);
//! // The first record of either capture is the SYN.
//! assert!(truth.same_packet(0, 0));
//! ```
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
mod needs;
mod object_server;
mod options;
mod payload;
mod prng;
mod quic;
pub mod script;
pub mod scripted;
mod simulator;
mod writer;

pub use frame::{FrameSpec, Framing, Transport, flag};
pub use needs::{find_program, has_minutes, has_programs, report_skipped, skip};
pub use object_server::{Asked, ObjectServer, Reply};
pub use options::TcpOptions;
pub use payload::Payload;
pub use prng::Prng;
pub use quic::QuicHeader;
pub use simulator::{
    CaptureSpec, ClockStep, Congestion, Direction, DirectionTotals, Fate, FlowTruth, IpId,
    IpVersion, Middle, Outage, PacketId, PacketTruth, Path, Point, Policer, Scenario, Sighting,
    Sightings, Summary, TcpLoad, Truth, TwoCaptures, UdpLoad, UdpPayload, Writes, simulate,
    simulate_into,
};
pub use writer::{CaptureWriter, Container, Endian, Interface, Resolution};
