//! What the first records of a capture show before the first pass.

use std::sync::atomic::AtomicBool;

use tcpexp_capture::PartHead;
use tcpexp_pair::spp::{TickMeter, Twins};
use tcpexp_units::TimeDelta;
use tcpexp_wire::{LinkType, Tunnels, decode};

use super::Recording;
use crate::Error;
use crate::order::PROBED;

/// Number of different times that show the tick of a clock well: the greatest common divisor of a few
/// of its multiples may be larger.
const MIN_TICK_GAPS: usize = 64;
/// Maximum number of records read for [`MIN_TICK_GAPS`]. A clock with a tick of 0.1 s shows this
/// number of times in 6.4 s; a flow of 100 Mbit/s has 53,000 packets in this time.
const MOST_PROBED: usize = 1 << 16;
/// Number of packets with payload that show whether a capture has each packet twice.
const COMPARED: usize = 512;

/// What the first records show before the first pass.
#[derive(Debug)]
pub(super) struct Probed {
    /// True once the probe or a pass has found records out of order.
    pub(super) is_out_of_order: AtomicBool,
    /// Tick of the clock, if it is coarser than one microsecond.
    coarse_tick: Option<TimeDelta>,
    /// True if nearly each data segment was captured twice.
    has_twins: bool,
    /// What the file says of the whole capture, if it is a part.
    part: Option<PartHead>,
}

impl Recording {
    /// Tick of the capture's clock, by the first records, if it is coarser than one microsecond.
    pub(crate) fn coarse_tick(&self) -> Result<Option<TimeDelta>, Error> {
        Ok(self.probed()?.coarse_tick)
    }

    /// True if nearly each of the first data segments was captured twice.
    pub(crate) fn has_twins(&self) -> Result<bool, Error> {
        Ok(self.probed()?.has_twins)
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
        let mut twins = Twins::default();
        let mut compared = 0;
        'parts: for part in self.parts() {
            let mut capture = part.capture()?;
            loop {
                let record = capture.next_record();
                let at = record.map(|record| record.at);
                if compared < COMPARED
                    && let Some(record) = record
                    && let Ok(at) = record.at
                    && let link = LinkType(record.link_type)
                    && let Ok(packet) =
                        decode(link, record.captured, record.wire_bytes, Tunnels::Closed)
                {
                    compared += usize::from(twins.add(&packet, at));
                }
                // Known after the first record, and after the end of a part without records.
                if let Some(part) = capture.part_head() {
                    head = Some(part.clone());
                    break 'parts;
                }
                let Some(at) = at else {
                    break;
                };
                let Ok(at) = at else {
                    continue;
                };
                meter.observe(at);
                times.push(at);
                let is_enough = meter.gaps() >= MIN_TICK_GAPS || times.len() >= MOST_PROBED;
                if times.len() >= PROBED && is_enough {
                    break 'parts;
                }
            }
        }
        self.require_store()?;
        if let Some(part) = head {
            return Ok(Probed {
                // The records of a part are in the order of a pass over the whole capture.
                is_out_of_order: AtomicBool::new(false),
                coarse_tick: part.coarse_tick_ns.map(TimeDelta::from_nanos),
                has_twins: part.has_twins,
                part: Some(part),
            });
        }
        times.truncate(PROBED);
        Ok(Probed {
            is_out_of_order: AtomicBool::new(!times.is_sorted()),
            coarse_tick: meter.coarse_tick(),
            has_twins: twins.are_the_rule(),
            part: None,
        })
    }
}
