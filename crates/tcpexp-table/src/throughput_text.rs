//! The rates of a capture, as text for a terminal.

use std::collections::HashMap;

use tcpexp_flow::{Direction, FlowId};
use tcpexp_measure::throughput::{BinTally, ThroughputBin, ThroughputFlow, Volume};
use tcpexp_units::{RateUnit, TimeDelta, Timestamp};

use crate::cells::{NO_VALUE, count, percent, show_rate, wrapped};
use crate::connections::rate_bps;
use crate::labels::FlowLabel;
use crate::order::{Order, longest, ordered};
use crate::text::FLOW_TABLE_WIDTH;
use crate::top::Top;

/// Name of the line for both ways together.
const BOTH: &str = "both";

/// The flows with the most bytes on the wire, and the totals of all flows.
#[derive(Clone, Debug)]
pub struct TopThroughput {
    link_rate_bps: Option<u64>,
    top: Top<FlowRates>,
    /// Bins of flows that have not ended.
    live: HashMap<FlowId, [BinTally; 2]>,
    all: AllRates,
}

/// Rates of a flow that has ended.
#[derive(Clone, Debug)]
struct FlowRates {
    label: FlowLabel,
    duration: TimeDelta,
    directions: [Rates; 2],
}

/// All flows of the capture: forward, reverse and both.
#[derive(Clone, Debug, Default)]
struct AllRates {
    flows: u64,
    span: Option<(Timestamp, Timestamp)>,
    rates: [Rates; 3],
}

/// Volume and bins of one way.
#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    volume: Volume,
    bins: BinTally,
}

/// Orders of the flows.
const ORDERS: [Order<FlowRates>; 4] = [
    Order {
        name: ("bytes", "Bytes on the wire, most first"),
        key: |flow| {
            Some(
                flow.directions
                    .iter()
                    .map(|way| way.volume.wire_bytes)
                    .sum(),
            )
        },
    },
    Order {
        name: ("packets", "Packets, most first"),
        key: |flow| Some(flow.directions.iter().map(|way| way.volume.packets).sum()),
    },
    Order {
        name: (
            "duration",
            "Time from the first to the last packet, longest first",
        ),
        key: |flow| longest(std::iter::once(flow.duration)),
    },
    Order {
        name: (
            "number",
            "The number of the flow, which is the order of first appearance",
        ),
        key: |flow| Some(u64::MAX - u64::from(flow.label.flow.0)),
    },
];

ordered!(TopThroughput, top, ORDERS);

impl TopThroughput {
    /// Shows at most `most` flows. `link_rate_bps` is the rate of the link, if known.
    pub fn new(most: usize, link_rate_bps: Option<u64>) -> Self {
        Self {
            link_rate_bps,
            top: Top::new(most, |flow| {
                let bytes = flow.directions.iter().map(|rates| rates.volume.wire_bytes);
                (bytes.sum(), flow.label.flow.0)
            }),
            live: HashMap::new(),
            all: AllRates::default(),
        }
    }

    /// Adds a bin of one flow, or of all flows together.
    pub fn bin(&mut self, bin: &ThroughputBin) {
        let direction = bin.direction.map(Direction::index);
        match bin.flow {
            Some(flow) => {
                let live = self.live.entry(flow).or_default();
                if let Some(tally) = direction.and_then(|direction| live.get_mut(direction)) {
                    tally.add(bin);
                }
            }
            // A total without a direction is of both ways, which is the third.
            None => self.all.rates[direction.unwrap_or(2)].bins.add(bin),
        }
    }

    /// Adds a finished flow. A flow without bins is counted in the total only.
    pub fn end(&mut self, flow: &ThroughputFlow) {
        let span = (flow.flow.first_seen, flow.flow.last_seen);
        self.close(FlowLabel::of(&flow.flow), span, flow.directions);
    }

    fn close(
        &mut self,
        label: FlowLabel,
        (first, last): (Timestamp, Timestamp),
        directions: [Volume; 2],
    ) {
        self.all.add((first, last), directions);
        let Some([forward, reverse]) = self.live.remove(&label.flow) else {
            return;
        };
        let [there, back] = directions;
        self.top.add(FlowRates {
            label,
            duration: last - first,
            directions: [(there, forward), (back, reverse)]
                .map(|(volume, bins)| Rates { volume, bins }),
        });
    }

    /// Formats the table for a terminal of `width` columns, at least 80.
    ///
    /// The flows with the most bytes come first, one line sums up the rest, and the last lines give
    /// the totals of the capture. Rates are means from a flow's first packet to its last, in either
    /// direction.
    pub fn into_text(self, width: usize) -> String {
        let (kept, rest) = self.top.into_rows();
        let text = Text {
            link_rate_bps: self.link_rate_bps,
            unit: RateUnit::of(self.all.highest_bps()),
        };
        let mut lines = vec![text.header()];
        for flow in &kept {
            lines.extend(title(flow, width.max(FLOW_TABLE_WIDTH)));
            let directions = Direction::BOTH.map(Direction::name).into_iter();
            lines.extend(text.lines(directions.zip(flow.directions), flow.duration));
        }
        lines.extend(rest.line_of_flows(kept.len(), "byte", " on the wire"));
        lines.extend(text.all(&self.all));
        lines.join("\n") + "\n"
    }
}

impl AllRates {
    fn add(&mut self, (first, last): (Timestamp, Timestamp), directions: [Volume; 2]) {
        self.flows += 1;
        self.span = Some(match self.span {
            None => (first, last),
            Some((earliest, latest)) => (earliest.min(first), latest.max(last)),
        });
        for (direction, volume) in directions.into_iter().enumerate() {
            self.rates[direction].volume += volume;
            self.rates[2].volume += volume;
        }
    }

    /// The higher of the peak and the mean; a capture shorter than half a bin has no peak.
    fn highest_bps(&self) -> u64 {
        let Rates { volume, bins } = self.rates[2];
        let duration = self.span.map(|(first, last)| last - first);
        let mean = duration.and_then(|duration| rate_bps(volume.wire_bytes, duration));
        bins.peak_wire_rate_bps.max(mean).unwrap_or(0)
    }
}

fn title(flow: &FlowRates, width: usize) -> Vec<String> {
    let FlowLabel {
        flow: number,
        protocol,
        initiator,
        responder,
    } = &flow.label;
    wrapped(
        &[
            format!("{number} {protocol} {initiator}"),
            format!("> {responder}"),
            format!(" {:.1}", flow.duration),
        ],
        width,
    )
}

/// Formatting options of one table.
struct Text {
    link_rate_bps: Option<u64>,
    unit: RateUnit,
}

impl Text {
    /// One line of numbers, at most 80 columns wide.
    fn row(&self, name: &str, cells: [String; 7]) -> String {
        let [packets, wire, throughput, goodput, peak, empty, of_link] = cells;
        let line = format!(
            "{name:10} {packets:>9} {wire:>9} {throughput:>10} {goodput:>9} {peak:>9} {empty:>7}"
        );
        match self.link_rate_bps {
            Some(_) => format!("{line} {of_link:>8}"),
            None => line,
        }
    }

    fn header(&self) -> String {
        let names = [
            "packets",
            "wire",
            "throughput",
            "goodput",
            "peak",
            "empty",
            "of link",
        ];
        self.row(self.unit.name(), names.map(str::to_owned))
    }

    /// The lines of all flows together.
    fn all(&self, all: &AllRates) -> Vec<String> {
        let Some((first, last)) = all.span else {
            return Vec::new();
        };
        let duration = last - first;
        let flows = match all.flows {
            1 => "1 flow".to_owned(),
            flows => format!("all {} flows", count(flows, usize::MAX)),
        };
        let mut lines = vec![format!("{flows}  {duration:.1}")];
        let names = ["forward", "reverse", BOTH].into_iter();
        // With packets one way only, the line for both ways would repeat the other.
        let is_one_way = all.rates[..2].iter().any(|rates| rates.volume.packets == 0);
        let shown = names.zip(all.rates).take(if is_one_way { 2 } else { 3 });
        lines.extend(self.lines(shown, duration));
        lines
    }

    fn lines<'a>(
        &self,
        named: impl Iterator<Item = (&'a str, Rates)>,
        duration: TimeDelta,
    ) -> impl Iterator<Item = String> {
        named
            .filter(|(_, rates)| rates.volume.packets > 0)
            .map(move |(name, rates)| self.line(name, &rates, duration))
    }

    fn line(&self, name: &str, rates: &Rates, duration: TimeDelta) -> String {
        let Rates { volume, bins } = rates;
        let wire = rate_bps(volume.wire_bytes, duration);
        let mean = |bytes| self.rate(rate_bps(bytes, duration));
        // The sum of both ways may exceed the link's rate, which applies to each way.
        let of_link = wire
            .zip(self.link_rate_bps)
            .filter(|_| name != BOTH)
            .and_then(|(wire, link)| percent(wire, link));
        let empty = percent(bins.empty_bins, bins.bins);
        self.row(
            &format!("  {name}"),
            [
                count(volume.packets, 9),
                self.rate(wire),
                mean(volume.ip_bytes),
                mean(volume.goodput_bytes),
                self.rate(bins.peak_wire_rate_bps),
                empty.unwrap_or(NO_VALUE.to_owned()),
                of_link.unwrap_or(NO_VALUE.to_owned()),
            ],
        )
    }

    fn rate(&self, bps: Option<u64>) -> String {
        bps.map_or(NO_VALUE.to_owned(), |bps| show_rate(self.unit, bps))
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use tcpexp_flow::Protocol;

    use super::*;

    const SECOND: TimeDelta = TimeDelta::from_seconds(1);

    /// The text for a capture of `seconds` in which each flow sends these bytes per second and way,
    /// and pauses every fourth second.
    fn table(flows: &[[u64; 2]], seconds: u64, link_rate_bps: Option<u64>, most: usize) -> String {
        let mut table = TopThroughput::new(most, link_rate_bps);
        let start = Timestamp::from_nanos(0);
        let mut totals = vec![[Volume::default(); 2]; flows.len()];
        for second in 0..seconds {
            let mut all = [Volume::default(); 3];
            for (number, bytes) in flows.iter().enumerate() {
                for direction in Direction::BOTH {
                    let sent = volume(bytes[direction.index()] * u64::from(second % 4 < 3));
                    totals[number][direction.index()] += sent;
                    all[direction.index()] += sent;
                    all[2] += sent;
                    let flow = FlowId(u32::try_from(number).unwrap());
                    table.bin(&bin(second, Some(flow), Some(direction), sent));
                }
            }
            for (number, sent) in all.into_iter().enumerate() {
                let direction = Direction::BOTH.get(number).copied();
                table.bin(&bin(second, None, direction, sent));
            }
        }
        for (number, directions) in totals.into_iter().enumerate() {
            let flow = FlowId(u32::try_from(number).unwrap());
            let end = start + TimeDelta::from_seconds(seconds.cast_signed());
            table.close(label(flow), (start, end), directions);
        }
        table.into_text(80)
    }

    fn volume(wire_bytes: u64) -> Volume {
        let packets = wire_bytes.div_ceil(1514);
        Volume {
            packets,
            wire_bytes,
            ip_bytes: wire_bytes - 14 * packets,
            goodput_bytes: wire_bytes.saturating_sub(66 * packets),
            ce_packets: 0,
        }
    }

    fn bin(
        second: u64,
        flow: Option<FlowId>,
        direction: Option<Direction>,
        volume: Volume,
    ) -> ThroughputBin {
        ThroughputBin {
            flow,
            direction,
            start: Timestamp::from_nanos(0) + TimeDelta::from_seconds(second.cast_signed()),
            width: SECOND,
            left_out: TimeDelta::ZERO,
            covered: SECOND,
            volume,
            utilisation_ppm: None,
        }
    }

    fn label(flow: FlowId) -> FlowLabel {
        FlowLabel {
            flow,
            protocol: Protocol::Tcp,
            initiator: format!("172.16.10.3:{}", 47_652 + flow.0),
            responder: "172.16.11.2:5201".to_owned(),
        }
    }

    #[test]
    fn a_flow_has_a_line_per_direction_and_the_total_has_both() {
        assert_snapshot!(table(&[[1_250_000, 30_000]], 8, Some(10_000_000), 20), @r"
        Mbit/s       packets      wire throughput   goodput      peak   empty  of link
        0 tcp 172.16.10.3:47652 > 172.16.11.2:5201  8.0 s
          forward      4 956     7.500      7.431     7.173     10.00  25.0 %   75.0 %
          reverse        120     0.180      0.178     0.172     0.240  25.0 %    1.8 %
        1 flow  8.0 s
          forward      4 956     7.500      7.431     7.173     10.00  25.0 %   75.0 %
          reverse        120     0.180      0.178     0.172     0.240  25.0 %    1.8 %
          both         5 076     7.680      7.609     7.345     10.24  25.0 %        -
        ");
    }

    #[test]
    fn without_a_link_rate_there_is_no_share_of_it() {
        assert_snapshot!(table(&[[5_000, 0]], 4, None, 20), @r"
        kbit/s       packets      wire throughput   goodput      peak   empty
        0 tcp 172.16.10.3:47652 > 172.16.11.2:5201  4.0 s
          forward         12     30.00      29.66     28.42     40.00  25.0 %
        1 flow  4.0 s
          forward         12     30.00      29.66     28.42     40.00  25.0 %
        ");
    }

    #[test]
    fn flows_beyond_the_limit_are_one_line_and_count_in_the_total() {
        assert_snapshot!(table(&[[60_000, 3_000], [99_000_000_000, 1_500], [70_000, 1_500]], 4, Some(1_000_000_000), 1), @r"
        Gbit/s       packets      wire throughput   goodput      peak   empty  of link
        1 tcp 172.16.10.3:47653 > 172.16.11.2:5201  4.0 s
          forward    196.2 M     594.0      588.5     568.1     792.0  25.0 %  5.9e4 %
          reverse          3    <0.001     <0.001    <0.001    <0.001  25.0 %   <0.1 %
        and 2 more flows (403 500 bytes on the wire)
        all 3 flows  4.0 s
          forward    196.2 M     594.0      588.5     568.1     792.0  25.0 %  5.9e4 %
          reverse         12    <0.001     <0.001    <0.001    <0.001  25.0 %   <0.1 %
          both       196.2 M     594.0      588.5     568.1     792.0  25.0 %        -
        ");
    }

    #[test]
    fn a_capture_shorter_than_half_a_bin_has_no_peak() {
        let mut table = TopThroughput::new(20, None);
        let sent = volume(100_000);
        let [start, end] = [0, 400_000_000].map(Timestamp::from_nanos);
        let forward = Some(Direction::Forward);
        for (flow, direction) in [(Some(FlowId(0)), forward), (None, forward), (None, None)] {
            table.bin(&ThroughputBin {
                covered: end - start,
                ..bin(0, flow, direction, sent)
            });
        }
        table.close(label(FlowId(0)), (start, end), [sent, Volume::default()]);
        assert_snapshot!(table.into_text(80), @r"
        Mbit/s       packets      wire throughput   goodput      peak   empty
        0 tcp 172.16.10.3:47652 > 172.16.11.2:5201  400.0 ms
          forward         67     2.000      1.981     1.912         -     0 %
        1 flow  400.0 ms
          forward         67     2.000      1.981     1.912         -     0 %
        ");
    }

    #[test]
    fn a_flow_of_one_packet_has_no_rate() {
        let mut table = TopThroughput::new(20, Some(1_000_000));
        let at = Timestamp::from_nanos(5);
        let forward = Some(Direction::Forward);
        for (flow, direction) in [(Some(FlowId(0)), forward), (None, forward), (None, None)] {
            table.bin(&bin(0, flow, direction, volume(60)));
        }
        table.close(label(FlowId(0)), (at, at), [volume(60), Volume::default()]);
        assert_snapshot!(table.into_text(80), @r"
        kbit/s       packets      wire throughput   goodput      peak   empty  of link
        0 tcp 172.16.10.3:47652 > 172.16.11.2:5201  0 ns
          forward          1         -          -         -     0.480     0 %        -
        1 flow  0 ns
          forward          1         -          -         -     0.480     0 %        -
        ");
    }

    #[test]
    fn flows_without_bins_are_not_shown() {
        let mut table = TopThroughput::new(20, None);
        let at = Timestamp::from_nanos(5);
        table.close(label(FlowId(0)), (at, at), [volume(60), Volume::default()]);
        assert!(!table.into_text(80).contains("172.16"));
    }
}
