//! What the first records of a capture show before the first pass.

use std::sync::atomic::AtomicBool;

use tcpexp_capture::{PartHead, Record};
use tcpexp_pair::spp::{TickMeter, Twins};
use tcpexp_units::TimeDelta;
use tcpexp_wire::{Filter, LinkType, Tunnels, decode};

use super::Recording;
use super::tags::{Alternating, Tags};
use crate::Error;
use crate::order::PROBED;

/// Number of different times that show the tick of a clock well: the greatest common divisor of a few
/// of its multiples may be larger.
const MIN_TICK_GAPS: usize = 64;
/// Maximum number of records read for [`MIN_TICK_GAPS`]. A clock with a tick of 0.1 s shows this
/// number of times in 6.4 s; a flow of 100 Mbit/s has 53,000 packets in this time.
const MOST_PROBED: usize = 1 << 16;
/// Number of packets with payload that show how many records of each packet a capture has.
const COMPARED: usize = 512;

/// What the first records show before the first pass.
#[derive(Debug)]
pub(super) struct Probed {
    /// True once the probe or a pass has found records out of order.
    pub(super) is_out_of_order: AtomicBool,
    /// Tick of the clock, if it is coarser than one microsecond.
    coarse_tick: Option<TimeDelta>,
    /// Usual number of records of a packet, with closed and with entered tunnels (see [`place_of`]). A capture
    /// may have a packet both inside and outside of a tunnel. Only with entered tunnels, these are two records
    /// of one packet.
    records_per_packet: [u32; 2],
    /// The flows whose packets alternate between VLAN tags or MPLS labels.
    with_several_tags: Alternating,
    /// What the file says of the whole capture, if it is a part.
    part: Option<PartHead>,
}

impl Recording {
    /// Tick of the capture's clock, by the first records, if it is coarser than one microsecond.
    pub(crate) fn coarse_tick(&self) -> Result<Option<TimeDelta>, Error> {
        Ok(self.probed()?.coarse_tick)
    }

    /// Usual number of records of a packet, by the first data packets; 1 if most have a single one.
    pub(crate) fn records_per_packet(&self, tunnels: Tunnels) -> Result<u32, Error> {
        Ok(self.probed()?.records_per_packet[place_of(tunnels)])
    }

    /// Number of flow directions whose packets alternate between VLAN tags or MPLS labels that the filter selects,
    /// by the first records; 0 if the capture has several records of each packet, because a pass leaves out all but
    /// the first.
    pub(crate) fn flows_with_several_tags(
        &self,
        tunnels: Tunnels,
        filter: Option<&Filter>,
    ) -> Result<u32, Error> {
        let probed = self.probed()?;
        let has_further = probed.records_per_packet[place_of(tunnels)] > 1;
        Ok(if has_further {
            0
        } else {
            probed.with_several_tags.flows(filter)
        })
    }

    /// True once the probe or a pass has found records out of order.
    pub(super) fn out_of_order(&self) -> Result<&AtomicBool, Error> {
        Ok(&self.probed()?.is_out_of_order)
    }

    /// What the file says of the whole capture, if it is a part.
    pub(crate) fn part_head(&self) -> Result<Option<&PartHead>, Error> {
        Ok(self.probed()?.part.as_ref())
    }

    fn probed(&self) -> Result<&Probed, Error> {
        if let Some(known) = self.probed.get() {
            return Ok(known);
        }
        // `get_or_init` cannot return an error, so the probe runs before it.
        let probed = self.probe()?;
        Ok(self.probed.get_or_init(|| probed))
    }

    /// Probes order and clock by the first records.
    fn probe(&self) -> Result<Probed, Error> {
        let mut meter = TickMeter::default();
        let mut times = Vec::with_capacity(PROBED);
        let mut head = None;
        let mut tags = Tags::default();
        let mut compared = [
            Compared::new(Tunnels::Closed),
            Compared::new(Tunnels::Entered),
        ];
        for part in self.parts() {
            let mut capture = part.capture()?;
            let is_enough = loop {
                let record = capture.next_record();
                let at = record.map(|record| record.at);
                if let Some(record) = record {
                    tags.add(&record);
                    for compared in &mut compared {
                        compared.add(&record);
                    }
                }
                // Known after the first record, and after the end of a part without records.
                if let Some(part) = capture.part_head() {
                    head = Some(part.clone());
                    break true;
                }
                let Some(at) = at else {
                    break false;
                };
                let Ok(at) = at else {
                    continue;
                };
                meter.observe(at);
                times.push(at);
                // Two connections with equal addresses are rare, so more records are compared where records have tags.
                let shows_clock = meter.gaps() >= MIN_TICK_GAPS && !tags.has_any();
                let is_enough = shows_clock || times.len() >= MOST_PROBED;
                if times.len() >= PROBED && is_enough {
                    break true;
                }
            };
            // The packets of a described interface may come after these records.
            for interface in capture.interfaces() {
                meter.count_in(interface.resolution.unit());
            }
            if is_enough {
                break;
            }
        }
        self.require_store()?;
        if let Some(part) = head {
            return Ok(Probed {
                // The records of a part are in the order of a pass over the whole capture.
                is_out_of_order: AtomicBool::new(false),
                coarse_tick: part.coarse_tick_ns.map(TimeDelta::from_nanos),
                records_per_packet: [part.records_per_packet; 2],
                with_several_tags: Alternating::default(),
                part: Some(part),
            });
        }
        times.truncate(PROBED);
        Ok(Probed {
            is_out_of_order: AtomicBool::new(!times.is_sorted()),
            coarse_tick: meter.coarse_tick(),
            records_per_packet: compared.map(|compared| compared.twins.records_per_packet()),
            with_several_tags: tags.alternating(),
            part: None,
        })
    }
}

/// The packets that show how many records of each packet a capture has.
struct Compared {
    tunnels: Tunnels,
    twins: Twins,
    /// Number of packets with payload.
    packets: usize,
}

impl Compared {
    fn new(tunnels: Tunnels) -> Self {
        Self {
            tunnels,
            twins: Twins::default(),
            packets: 0,
        }
    }

    fn add(&mut self, record: &Record<'_>) {
        let link = LinkType(record.link_type);
        if self.packets < COMPARED
            && let Ok(at) = record.at
            && let Ok(packet) = decode(link, record.captured, record.wire_bytes, self.tunnels)
        {
            self.packets += usize::from(self.twins.add(&packet, at));
        }
    }
}

/// Place of the result for closed or entered tunnels.
const fn place_of(tunnels: Tunnels) -> usize {
    match tunnels {
        Tunnels::Closed => 0,
        Tunnels::Entered => 1,
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_testkit::{CaptureWriter, Container, Endian, Interface, script};

    use super::*;

    /// The packet of `frame` in a tunnel of IPv4 in IPv4 (RFC 2003).
    fn in_tunnel(frame: &[u8]) -> Vec<u8> {
        let (ethernet, packet) = frame.split_at(14);
        let [high, low] = u16::try_from(20 + packet.len()).unwrap().to_be_bytes();
        let outer = [
            0x45, 0, high, low, 0, 0, 0, 0, 64, 4, 0, 0, 10, 9, 9, 1, 10, 9, 9, 2,
        ];
        [ethernet, &outer, packet].concat()
    }

    /// A capture with two records of each packet.
    fn recording(records: impl Fn(&[u8]) -> [Vec<u8>; 2]) -> Recording {
        let interfaces = [Interface::default()];
        let mut writer =
            CaptureWriter::new(Vec::new(), Container::Pcap, Endian::Little, &interfaces).unwrap();
        let line = |number: u32| format!("0.{number:03} > udp 100 num {number}\n");
        let text: String = (0..40).map(line).collect();
        for (at, frame) in script::packets(&text) {
            for record in records(&frame) {
                let bytes = u32::try_from(record.len()).unwrap();
                writer.write(at, &record, bytes).unwrap();
            }
        }
        let file = writer.into_inner();
        Recording::spool("capture".into(), file.as_slice()).unwrap()
    }

    #[test]
    fn two_records_of_each_packet_within_tunnels_are_found_if_the_tunnels_are_entered() {
        let records = |recording: &Recording| {
            [Tunnels::Closed, Tunnels::Entered]
                .map(|tunnels| recording.records_per_packet(tunnels).unwrap())
        };
        let both_in_tunnels = recording(|frame| [in_tunnel(frame), in_tunnel(frame)]);
        assert_eq!(records(&both_in_tunnels), [1, 2]);
        let one_in_tunnels = recording(|frame| [frame.to_vec(), in_tunnel(frame)]);
        assert_eq!(records(&one_in_tunnels), [1, 2]);
        let none_in_tunnels = recording(|frame| [frame.to_vec(), frame.to_vec()]);
        assert_eq!(records(&none_in_tunnels), [2, 2]);
    }
}
