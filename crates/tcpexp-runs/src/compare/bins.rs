//! Traffic over time, from the table `throughput` of a dataset.

use std::collections::{BTreeMap, HashMap};

use tcpexp_metrics::compare::Bin;
use tcpexp_table::dataset::StoredTables;
use tcpexp_units::Timestamp;

use super::columns::Columns;
use super::flows::{FlowRow, Lane, Lanes};
use super::{CompareError, Counts};

/// Bins of each direction of each flow, by the capture that counted them.
pub(super) struct Bins(HashMap<(Lane, String), Vec<Bin>>);

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
        let lanes = Lanes::of(&table, lanes);
        let [capture, _, _, at, width, covered, packets, ip, goodput, ce] =
            columns.map(|name| table.column(name));
        let mut bins: HashMap<(Lane, String), Vec<Bin>> = HashMap::new();
        for row in 0..table.rows() {
            let bin = || {
                // Rows of all flows together have no flow: they would count each packet a second
                // time.
                let flow = lanes.flow(row)?;
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
        Ok(Self(bins))
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
        for bin in keys.filter_map(|key| self.0.get(&key)).flatten() {
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
