//! What limited the senders of a capture.

use std::collections::HashMap;
use std::sync::Arc;

use tcpexp_flow::{Direction, FlowId};
use tcpexp_measure::sender::SenderRow;
use tcpexp_measure::verdict::{Limits, Verdict};
use tcpexp_measure::{Labelled, SenderLabel};
use tcpexp_pair::spp::Point;
use tcpexp_units::Timestamp;

use crate::{CaptureInfo, CaptureOptions, CwndOptions, Error, Recording, cwnd, flows};

/// Minimum payload of a direction for a verdict, in bytes: two initial windows of ten segments
/// (RFC 6928). The window of a shorter transfer has no time to meet a limit.
pub const LARGE_BYTES: u64 = 30_000;

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
/// capture three times. Memory grows with the number of large flows.
pub fn why(
    src: &Recording,
    dst: Option<&Recording>,
    options: &CwndOptions,
) -> Result<WhyReport, Error> {
    let senders = large(src, options)?;
    let mut going_on: HashMap<(FlowId, Direction), Limits> = HashMap::new();
    let mut verdicts: Vec<(u64, LabelledVerdict)> = Vec::new();
    let mut small = 0;
    let infos = cwnd(src, dst, options, |rows| {
        for Labelled { flow: label, row } in rows {
            let key = of(&row);
            let Some(large) = senders.get(&key) else {
                small += u64::from(matches!(row, SenderRow::Summary(_)));
                continue;
            };
            let limits = going_on.entry(key).or_insert_with(|| {
                // The other capture has another clock.
                let began = (label.capture == Some(Point::Src)).then_some(large.began);
                Limits::new(key.0, key.1, began)
            });
            limits.add(&row);
            if matches!(row, SenderRow::Summary(_)) {
                let verdict = going_on.remove(&key).and_then(Limits::verdict);
                small += u64::from(verdict.is_none());
                verdicts.extend(verdict.map(|row| {
                    let flow = Arc::clone(&label);
                    (large.payload_bytes, Labelled { flow, row })
                }));
            }
        }
        Ok::<(), Error>(())
    })?;
    // Of equal flows, the first comes first.
    verdicts.sort_by_key(|(bytes, verdict)| (std::cmp::Reverse(*bytes), verdict.row.flow));
    Ok(WhyReport {
        verdicts: verdicts.into_iter().map(|(_, verdict)| verdict).collect(),
        small,
        infos,
    })
}

/// A direction with much payload.
struct Large {
    began: Timestamp,
    payload_bytes: u64,
}

fn large(
    src: &Recording,
    options: &CwndOptions,
) -> Result<HashMap<(FlowId, Direction), Large>, Error> {
    let mut found = HashMap::new();
    let reading = CaptureOptions {
        reading: options.reading.clone(),
    };
    flows(src, &reading, |connections| {
        for connection in connections {
            for direction in Direction::BOTH {
                let payload_bytes = connection.directions[direction.index()].unique_bytes;
                if payload_bytes >= LARGE_BYTES {
                    let began = connection.first_at;
                    found.insert(
                        (connection.flow, direction),
                        Large {
                            began,
                            payload_bytes,
                        },
                    );
                }
            }
        }
        Ok::<(), Error>(())
    })?;
    Ok(found)
}

fn of(row: &SenderRow) -> (FlowId, Direction) {
    match row {
        SenderRow::Sample(row) => (row.flow, row.direction),
        SenderRow::Recovery(row) => (row.flow, row.direction),
        SenderRow::Retransmission(row) => (row.flow, row.direction),
        SenderRow::Summary(row) => (row.flow, row.direction),
    }
}
