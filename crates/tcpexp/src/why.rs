//! What limited the senders of a capture.

use std::collections::HashMap;
use std::sync::Arc;

use tcpexp_flow::{Direction, FlowId, Holes, Packets};
use tcpexp_measure::flows::{ConnectionSummary, DirectionSummary};
use tcpexp_measure::sender::SenderRow;
use tcpexp_measure::verdict::{Limits, Opening, OpeningMeter, Verdict};
use tcpexp_measure::{Labelled, SenderLabel};
use tcpexp_pair::spp::Point;
use tcpexp_units::TimeDelta;

use crate::view::View;
use crate::{CaptureInfo, CaptureOptions, CwndOptions, Error, Recording, cwnd, flows};

/// Minimum payload of a direction for a verdict, in bytes: two initial windows of ten segments
/// (RFC 6928). A shorter transfer ends before its window reaches a limit.
pub const LARGE_BYTES: u64 = 30_000;

/// True if the sender of this direction has sent enough payload for a verdict.
pub fn is_large_sender(direction: &DirectionSummary) -> bool {
    direction.unique_bytes >= LARGE_BYTES
}

/// Number of packets read at once for the openings of flows.
const PACKETS_AT_ONCE: usize = 4_096;

/// A verdict with its flow.
pub type LabelledVerdict = Labelled<Verdict, SenderLabel>;

/// Verdicts on the large flows of a capture.
#[derive(Clone, Debug)]
pub struct WhyReport {
    /// The verdicts, the largest flow first.
    pub verdicts: Vec<LabelledVerdict>,
    /// Number of senders with less than [`LARGE_BYTES`] of payload, or without an ACK.
    pub small: u64,
    /// Descriptions of the captures.
    pub infos: Vec<CaptureInfo>,
}

/// Finds what limited each sender of at least [`LARGE_BYTES`].
///
/// `dst` is a second capture of the same traffic, as for [`cwnd`](fn@crate::cwnd). Reads a single
/// capture four times, two captures six times each. Memory grows with the number of large flows.
pub fn why(
    src: &Recording,
    dst: Option<&Recording>,
    options: &CwndOptions,
) -> Result<WhyReport, Error> {
    let senders = Senders::of(src, options)?;
    let far_senders = dst.map(|dst| Senders::of(dst, options)).transpose()?;
    let mut going_on: HashMap<(FlowId, Direction), Limits> = HashMap::new();
    let mut verdicts: Vec<(u64, LabelledVerdict)> = Vec::new();
    let mut small = 0;
    let infos = cwnd(src, dst, options, |rows| {
        for Labelled { flow: label, row } in rows {
            let key = of(&row);
            // The other capture has another clock, and other numbers of flows.
            let (of_capture, flow) = match (&far_senders, label.capture) {
                (Some(far), Some(Point::Dst)) => (far, label.captured),
                _ => (&senders, key.0),
            };
            let near = senders.payload_bytes.get(&key);
            // Only the other capture may have the flow.
            let payload_bytes = near.or_else(|| of_capture.payload_bytes.get(&(flow, key.1)));
            let Some(payload_bytes) = payload_bytes else {
                small += u64::from(matches!(row, SenderRow::Summary(_)));
                continue;
            };
            let limits = going_on.entry(key).or_insert_with(|| {
                let opening = of_capture.openings.get(&flow).copied();
                let missed = of_capture.missed.get(&(flow, key.1));
                let missed = missed.cloned().unwrap_or_default();
                Limits::new(key.0, key.1, opening, missed, of_capture.coarse_tick)
            });
            limits.add(&row);
            if matches!(row, SenderRow::Summary(_)) {
                let limits = going_on.remove(&key);
                let verdict = limits.and_then(|limits| limits.verdict(options.sender.position));
                small += u64::from(verdict.is_none());
                verdicts.extend(verdict.map(|row| {
                    let flow = Arc::clone(&label);
                    (*payload_bytes, Labelled { flow, row })
                }));
            }
        }
        Ok::<(), Error>(())
    })?;
    // Flows of equal size keep their order.
    verdicts.sort_by_key(|(bytes, verdict)| (std::cmp::Reverse(*bytes), verdict.row.flow));
    Ok(WhyReport {
        verdicts: verdicts.into_iter().map(|(_, verdict)| verdict).collect(),
        small,
        infos,
    })
}

/// The large senders of a capture.
#[derive(Default)]
struct Senders {
    /// Payload by flow and direction.
    payload_bytes: HashMap<(FlowId, Direction), u64>,
    /// Their data that the capture missed, if any.
    missed: HashMap<(FlowId, Direction), Holes>,
    /// How their flows were opened.
    openings: HashMap<FlowId, Opening>,
    /// Tick of the capture's clock, if it is coarse.
    coarse_tick: Option<TimeDelta>,
}

impl Senders {
    fn of(recording: &Recording, options: &CwndOptions) -> Result<Self, Error> {
        let mut found = Self {
            coarse_tick: recording.coarse_tick()?,
            ..Self::default()
        };
        let reading = CaptureOptions {
            reading: options.reading.clone(),
        };
        flows(recording, &reading, |connections| {
            for connection in connections {
                found.add(&connection);
            }
            Ok::<(), Error>(())
        })?;
        if !found.payload_bytes.is_empty() {
            found.read_openings(recording, options)?;
        }
        Ok(found)
    }

    fn add(&mut self, connection: &ConnectionSummary) {
        let flow = connection.flow;
        for direction in Direction::BOTH {
            let of_it = &connection.directions[direction.index()];
            if is_large_sender(of_it) {
                if let Some(missed) = &of_it.missed {
                    let missed = Holes::clone(missed);
                    self.missed.insert((flow, direction), missed);
                }
                self.payload_bytes
                    .insert((flow, direction), of_it.unique_bytes);
            }
        }
    }

    /// Reads how the flows of the large senders were opened.
    fn read_openings(&mut self, recording: &Recording, options: &CwndOptions) -> Result<(), Error> {
        let mut walk = View::of(recording, &options.reading)?.walk_once()?;
        let mut table = walk.table();
        let mut meters: HashMap<FlowId, OpeningMeter> = HashMap::new();
        loop {
            let shown = walk.show(PACKETS_AT_ONCE, |sighted| {
                let tracked = table.place(&mut sighted.arrival());
                let is_large = Direction::BOTH
                    .iter()
                    .any(|side| self.payload_bytes.contains_key(&(tracked.flow, *side)));
                if is_large && let Some(start) = tracked.start {
                    meters
                        .entry(tracked.flow)
                        .or_insert_with(|| OpeningMeter::new(sighted.at))
                        .packet(tracked.direction, sighted.at, start, sighted.packet);
                }
                table.drain_ended(|_, _| {});
            });
            if shown == 0 {
                break;
            }
        }
        let opened = meters.iter().map(|(flow, meter)| (*flow, meter.opening()));
        self.openings = opened.collect();
        Ok(())
    }
}

fn of(row: &SenderRow) -> (FlowId, Direction) {
    match row {
        SenderRow::Sample(row) => (row.flow, row.direction),
        SenderRow::Recovery(row) => (row.flow, row.direction),
        SenderRow::Retransmission(row) => (row.flow, row.direction),
        SenderRow::Summary(row) => (row.flow, row.direction),
    }
}
