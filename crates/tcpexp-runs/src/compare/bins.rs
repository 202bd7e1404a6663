//! Traffic over time, from the table `throughput` of a dataset.

use std::collections::{BTreeMap, HashMap, HashSet};

use tcpexp_metrics::compare::Bin;
use tcpexp_table::dataset::StoredTables;
use tcpexp_units::Timestamp;

use super::columns::Columns;
use super::flows::{FlowRow, Lane, Lanes};
use super::{CompareError, Counts};

/// Largest share of arrivals that may be duplicates without a match. The error of a rate that counts as known is
/// as large.
const MOST_UNMATCHED: f64 = 0.05;

/// Traffic over time of each direction of each flow.
pub(super) struct Bins {
    /// By the capture that counted them.
    bins: HashMap<(Lane, String), Vec<Bin>>,
    /// The directions whose payload may count more than once.
    repeated: HashSet<Lane>,
}

impl Bins {
    /// Reads the table `throughput` of a dataset.
    pub(super) fn read(
        data: &StoredTables,
        lanes: &HashMap<Lane, &FlowRow>,
        counts: Counts,
    ) -> Result<Self, CompareError> {
        let columns = [
            "capture",
            "flow_id",
            "direction",
            "time",
            "width_ns",
            "covered_ns",
            "packets",
            "ip_bytes",
            "goodput_bytes",
            "ce_packets",
        ];
        let table = Columns::read(data, "throughput", &columns)?;
        let of_rows = Lanes::of(&table, lanes);
        let [capture, _, _, at, width, covered, packets, ip, goodput, ce] =
            columns.map(|name| table.column(name));
        let mut bins: HashMap<(Lane, String), Vec<Bin>> = HashMap::new();
        for row in 0..table.rows() {
            let bin = || {
                // Rows of all flows together have no flow: they would count each packet a second
                // time.
                let flow = of_rows.flow(row)?;
                let packets: u64 = packets.count(row)?;
                // The rate of the link covers link headers, which `ip_bytes` leaves out.
                let headers = packets * u64::from(counts.link_header_bytes());
                let width = width.span(row)?;
                let bin = Bin {
                    start: at.time(row)?,
                    width,
                    covered: covered.span(row).unwrap_or(width),
                    link_bytes: ip.count::<u64>(row)? + headers,
                    goodput_bytes: goodput.count(row)?,
                    packets,
                    // A capture at the sender is before the queues that mark.
                    ce_packets: ce.count(row).filter(|_| flow.has_path),
                };
                Some(((flow.lane, capture.text(row)?.to_owned()), bin))
            };
            if let Some((key, bin)) = bin() {
                bins.entry(key).or_default().push(bin);
            }
        }
        let mut read = Self {
            bins,
            repeated: HashSet::new(),
        };
        read.leave_out_duplicates(data, lanes)?;
        Ok(read)
    }

    /// Leaves the payload of duplicates out of the bins at the receiver.
    ///
    /// TCP's sequence numbers show them to the table `throughput`. It counts all packets of other protocols, of
    /// which only the captures of both ends show the duplicates.
    fn leave_out_duplicates(
        &mut self,
        data: &StoredTables,
        known: &HashMap<Lane, &FlowRow>,
    ) -> Result<(), CompareError> {
        let is_repeated = |flow: &&&FlowRow| !flow.is_tcp && flow.duplicate_packets > 0;
        let repeated: HashMap<Lane, &FlowRow> = known
            .values()
            .filter(is_repeated)
            .map(|flow| (flow.lane, *flow))
            .collect();
        if repeated.is_empty() {
            return Ok(());
        }
        let arrivals = first_arrivals(data, &repeated)?;
        for (lane, flow) in repeated {
            let Some(bins) = self.bins.get_mut(&(lane, flow.arrives_at.to_owned())) else {
                continue;
            };
            let first = arrivals.get(&lane).map_or(&[][..], Vec::as_slice);
            if !keep_only(bins, first, flow.duplicate_packets) {
                self.repeated.insert(lane);
            }
        }
        Ok(())
    }

    /// True if the payload of a flow's packets may count more than once.
    pub(super) fn may_repeat(&self, flow: &FlowRow) -> bool {
        self.repeated.contains(&flow.lane)
    }

    /// Traffic of `flows` at the receiving capture; bins of the same time are added up.
    pub(super) fn arrived<'a>(&self, flows: impl Iterator<Item = &'a FlowRow>) -> Vec<Bin> {
        self.sum(flows.map(|flow| (flow.lane, flow.arrives_at.to_owned())))
    }

    /// Traffic of `flows` at the sending capture; bins of the same time are added up.
    pub(super) fn sent<'a>(&self, flows: impl Iterator<Item = &'a FlowRow>) -> Vec<Bin> {
        self.sum(flows.map(|flow| (flow.lane, flow.sent_at.clone())))
    }

    fn sum(&self, keys: impl Iterator<Item = (Lane, String)>) -> Vec<Bin> {
        // Bins of one capture lie on one grid, so bins of several flows start at equal times.
        let mut all: BTreeMap<Timestamp, Bin> = BTreeMap::new();
        for bin in keys.filter_map(|key| self.bins.get(&key)).flatten() {
            let total = all.entry(bin.start).or_insert(Bin {
                link_bytes: 0,
                goodput_bytes: 0,
                packets: 0,
                ce_packets: Some(0),
                ..*bin
            });
            total.link_bytes += bin.link_bytes;
            total.goodput_bytes += bin.goodput_bytes;
            total.packets += bin.packets;
            let marked = total.ce_packets.zip(bin.ce_packets);
            total.ce_packets = marked.map(|(total, bin)| total + bin);
        }
        all.into_values().collect()
    }
}

/// A packet that arrived for the first time.
struct Arrival {
    at: Timestamp,
    packets: u64,
    payload_bytes: u64,
}

/// The packets of these flows that arrived, each counted once, from the table `owd`.
fn first_arrivals(
    data: &StoredTables,
    flows: &HashMap<Lane, &FlowRow>,
) -> Result<HashMap<Lane, Vec<Arrival>>, CompareError> {
    let columns = [
        "flow_id",
        "direction",
        "received_time",
        "packets",
        "payload_bytes",
    ];
    let table = Columns::read(data, "owd", &columns)?;
    let lanes = Lanes::of(&table, flows);
    let [_, _, at, packets, payload] = columns.map(|name| table.column(name));
    let mut arrivals: HashMap<Lane, Vec<Arrival>> = HashMap::new();
    for row in 0..table.rows() {
        let arrival = || {
            Some(Arrival {
                at: at.time(row)?,
                packets: packets.count(row)?,
                payload_bytes: payload.count(row)?,
            })
        };
        if let (Some(flow), Some(arrival)) = (lanes.flow(row), arrival()) {
            arrivals.entry(flow.lane).or_default().push(arrival);
        }
    }
    Ok(arrivals)
}

/// Replaces the payload of bins by that of first arrivals. Leaves the bins as they are and returns false if too
/// many packets in them are neither first arrivals nor duplicates.
#[expect(clippy::cast_precision_loss, reason = "counts below 2^52")]
fn keep_only(bins: &mut [Bin], first: &[Arrival], duplicates: u64) -> bool {
    let arrived: u64 = bins.iter().map(|bin| bin.packets).sum();
    let matched: u64 = first.iter().map(|arrival| arrival.packets).sum();
    let unmatched = arrived.abs_diff(matched + duplicates);
    if unmatched as f64 > MOST_UNMATCHED * matched as f64 {
        return false;
    }
    let mut kept: BTreeMap<Timestamp, u64> = BTreeMap::new();
    bins.sort_unstable_by_key(|bin| bin.start);
    for arrival in first {
        let after = bins.partition_point(|bin| bin.start <= arrival.at);
        // The conversion to the source's clock may round the first time to before the first bin.
        let Some(bin) = bins.get(after.saturating_sub(1)) else {
            return false;
        };
        *kept.entry(bin.start).or_default() += arrival.payload_bytes;
    }
    for bin in bins {
        bin.goodput_bytes = kept.get(&bin.start).copied().unwrap_or(0);
    }
    true
}
