//! Simulates a path: two captures and the truth about every packet.

mod engine;
mod events;
mod flows;
mod ledger;
mod link;
mod load;
mod merge;
mod network;
mod packet;
mod places;
mod ranges;
mod receiver;
mod scenario;
mod sender;
mod tap;
mod tcp;
mod truth;

use std::io::{self, Write};

use engine::Engine;
pub use load::{Congestion, IpVersion, TcpLoad, UdpLoad, UdpPayload, Writes};
pub use network::{Direction, Outage, Path, Point, Policer};
pub use scenario::{CaptureSpec, ClockStep, IpId, Middle, Scenario};
pub use truth::{
    DirectionTotals, Fate, FlowTruth, PacketId, PacketTruth, Sighting, Sightings, Summary, Truth,
};

/// Captures of the same traffic at two points or more, with the truth about every packet.
#[derive(Clone, Debug)]
pub struct TwoCaptures {
    /// Capture file of SRC.
    pub src: Vec<u8>,
    /// Capture file of DST.
    pub dst: Vec<u8>,
    /// Capture files of the middle points, in the order from SRC to DST.
    pub middles: Vec<Vec<u8>>,
    /// Truth about every packet, flow and record.
    pub truth: Truth,
}

/// Runs a scenario in memory.
///
/// ```
/// use tcpexp_testkit::{Direction, Scenario, simulate};
/// use tcpexp_units::TimeDelta;
///
/// let captures = simulate(&Scenario {
///     loss_ppm: 10_000,
///     offset: TimeDelta::from_seconds(3 * 3600),
///     ..Scenario::default()
/// });
/// let first = captures.truth.src.packets(0)[0];
/// let syn = captures.truth.packet(first);
/// assert_eq!(syn.direction, Direction::Forward);
/// assert!(syn.downstream_at.unwrap() - syn.upstream_at >= TimeDelta::from_millis(10));
/// ```
pub fn simulate(scenario: &Scenario) -> TwoCaptures {
    let middles = vec![Vec::new(); scenario.middles.len()];
    let finished = Engine::new(scenario, [Vec::new(), Vec::new()], middles, true)
        .and_then(Engine::run)
        .expect("memory takes all writes");
    let [src, dst] = finished.ends;
    TwoCaptures {
        src,
        dst,
        middles: finished.middles,
        truth: finished.truth,
    }
}

/// Runs a scenario of any length into two files; memory use depends on the live flows only.
///
/// Packets are not kept, so the result holds only totals. The scenario has no middle points.
pub fn simulate_into<W: Write>(scenario: &Scenario, src: W, dst: W) -> io::Result<Summary> {
    let finished = Engine::new(scenario, [src, dst], Vec::new(), false)?.run()?;
    Ok(finished.truth.summary)
}
