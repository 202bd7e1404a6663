//! Marks of a capture that is one part of a divided capture.
//!
//! A part is an ordinary pcapng file. Facts about the whole capture are stored in blocks and options
//! whose type has the most significant bit set, which pcapng reserves for local use
//! (draft-ietf-opsawg-pcapng, sections 3.1 and 3.5): other programs skip them.
//!
//! - The first block after the section header is a [`PartHead`], the last block of the file a
//!   [`PartEnd`].
//! - Each packet has its record number in the whole capture as `epb_packetid`, and lists the flows of
//!   the part that begin with it or ended before it: a [`PartMark`].

use crate::{ByteOrder, PacketOptions};

/// Version of the blocks and options. Another version is refused.
pub const PART_VERSION: u32 = 5;

/// Types of the blocks: the bytes 80, `txp` and 80, `txe`.
pub(crate) const HEAD_BLOCK: u32 = 0x8074_7870;
pub(crate) const END_BLOCK: u32 = 0x8074_7865;
/// First bytes of the body of both blocks: any program may use their types.
const SIGNATURE: &[u8; 12] = b"tcpexp part\n";

/// The option `epb_packetid`: the record number in the whole capture, from 0.
const PACKET_ID: u16 = 5;
/// The packet begins a flow: number of the flow, number of the flow that it continues.
const FLOW_BEGINS: u16 = 0x8001;
/// Numbers of the flows that ended since the packet before.
const FLOWS_ENDED: u16 = 0x8002;
/// The time of the packet is an outlier among the times of the whole capture.
const OUTLIER: u16 = 0x8003;
/// See [`PartMark::moved`].
const MOVED: u16 = 0x8004;
/// No flow is continued.
const NO_FLOW: u32 = u32::MAX;
/// Numbers in one option, whose length has 16 bits.
const NUMBERS_PER_OPTION: usize = 16_000;

/// Contents of the block at the start of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartHead {
    /// [`PART_VERSION`] of the program that wrote the part.
    pub version: u32,
    /// Number of the part, from 1.
    pub number: u32,
    /// Number of all parts.
    pub count: u32,
    /// True if the flows are those inside tunnels.
    pub inner: bool,
    /// Usual number of records of a packet in the whole capture.
    pub records_per_packet: u32,
    /// Upper bound on the live flows.
    pub max_flows: u64,
    /// Tick of the whole capture's clock in nanoseconds, if it is coarse.
    pub coarse_tick_ns: Option<i64>,
    /// Name of the whole capture.
    pub name: String,
}

/// Contents of the block at the end of a part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartEnd {
    /// Number of flows of the whole capture.
    pub flows: u64,
    /// True if a pass over the whole capture finds records out of order only after its start. The
    /// second pass then has a different order from the first.
    pub is_late_out_of_order: bool,
    /// Records of the whole capture without a time, which no part has.
    pub no_time: u64,
    /// Records of the whole capture whose time is out of range, which no part has.
    pub time_out_of_range: u64,
    /// The first damage of the whole capture: a part has only the records that could be read.
    pub damage: Option<String>,
    /// Damaged places of the whole capture.
    pub damaged_places: u64,
}

/// The place of a part's packet in the whole capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartMark {
    /// Record number, from 0.
    pub record: u64,
    /// How many places later than in the file a pass over the whole capture returns the record; negative if
    /// earlier.
    pub moved: i32,
    /// Number of the flow that the packet begins, and of the flow that carried the connection before.
    pub begins: Option<(u32, Option<u32>)>,
    /// Numbers of the flows that ended since the packet before, in the order of their ends.
    pub ended: Vec<u32>,
    /// True if the time is an outlier.
    pub is_outlier: bool,
}

impl PartHead {
    pub(crate) fn to_body(&self) -> Vec<u8> {
        let mut body = SIGNATURE.to_vec();
        for word in [
            self.version,
            self.number,
            self.count,
            u32::from(self.inner),
            self.records_per_packet,
        ] {
            body.extend(word.to_le_bytes());
        }
        body.extend(self.max_flows.to_le_bytes());
        body.extend(self.coarse_tick_ns.unwrap_or(0).to_le_bytes());
        // The body is padded to whole words.
        body.extend((self.name.len() as u64).to_le_bytes());
        body.extend(self.name.as_bytes());
        body
    }

    pub(crate) fn read(body: &[u8], order: ByteOrder) -> Option<Self> {
        let body = Body::of(body, order)?;
        let tick = body.wide(28)?.cast_signed();
        let name_bytes = usize::try_from(body.wide(36)?).ok()?;
        let name = body.0.get(44..)?.get(..name_bytes)?;
        Some(Self {
            version: body.word(0)?,
            number: body.word(4)?,
            count: body.word(8)?,
            inner: body.word(12)? != 0,
            records_per_packet: body.word(16)?,
            max_flows: body.wide(20)?,
            coarse_tick_ns: (tick != 0).then_some(tick),
            name: String::from_utf8_lossy(name).into_owned(),
        })
    }
}

impl PartEnd {
    pub(crate) fn to_body(&self) -> Vec<u8> {
        let mut body = SIGNATURE.to_vec();
        body.extend(u32::from(self.is_late_out_of_order).to_le_bytes());
        // Damage is described by at least one byte.
        let damage = self.damage.as_deref().unwrap_or_default();
        for number in [
            self.flows,
            self.no_time,
            self.time_out_of_range,
            self.damaged_places,
            damage.len() as u64,
        ] {
            body.extend(number.to_le_bytes());
        }
        body.extend(damage.as_bytes());
        body
    }

    pub(crate) fn read(body: &[u8], order: ByteOrder) -> Option<Self> {
        let body = Body::of(body, order)?;
        let damage_bytes = usize::try_from(body.wide(36)?).ok()?;
        let damage = body.0.get(44..)?.get(..damage_bytes)?;
        Some(Self {
            is_late_out_of_order: body.word(0)? != 0,
            flows: body.wide(4)?,
            no_time: body.wide(12)?,
            time_out_of_range: body.wide(20)?,
            damaged_places: body.wide(28)?,
            damage: (!damage.is_empty()).then(|| String::from_utf8_lossy(damage).into_owned()),
        })
    }
}

impl PartMark {
    /// Reads the options of a packet; `None` if they have no record number.
    pub fn read(options: &PacketOptions<'_>) -> Option<Self> {
        let mut mark = Self::default();
        let mut has_record = false;
        for (code, value) in options.iter() {
            match code {
                PACKET_ID => {
                    mark.record = u64::from_le_bytes(value.try_into().ok()?);
                    has_record = true;
                }
                FLOW_BEGINS => {
                    let (numbers, _) = value.as_chunks::<4>();
                    let &[flow, continues] = numbers else {
                        return None;
                    };
                    let [flow, continues] = [flow, continues].map(u32::from_le_bytes);
                    let continues = (continues != NO_FLOW).then_some(continues);
                    mark.begins = Some((flow, continues));
                }
                FLOWS_ENDED => {
                    let (numbers, _) = value.as_chunks::<4>();
                    mark.ended
                        .extend(numbers.iter().copied().map(u32::from_le_bytes));
                }
                MOVED => mark.moved = i32::from_le_bytes(value.try_into().ok()?),
                OUTLIER => mark.is_outlier = true,
                _ => {}
            }
        }
        has_record.then_some(mark)
    }

    /// Appends the options of a little-endian block.
    pub(crate) fn write(&self, options: &mut Vec<u8>) {
        let mut option = |code: u16, value: &[u8]| {
            let length = u16::try_from(value.len()).expect("the values are shorter than 65,536");
            options.extend(code.to_le_bytes());
            options.extend(length.to_le_bytes());
            options.extend(value);
            // All values are whole words.
        };
        option(PACKET_ID, &self.record.to_le_bytes());
        if let Some((flow, continues)) = self.begins {
            let numbers = [flow, continues.unwrap_or(NO_FLOW)].map(u32::to_le_bytes);
            option(FLOW_BEGINS, numbers.as_flattened());
        }
        for some in self.ended.chunks(NUMBERS_PER_OPTION) {
            let numbers: Vec<u8> = some.iter().flat_map(|flow| flow.to_le_bytes()).collect();
            option(FLOWS_ENDED, &numbers);
        }
        if self.moved != 0 {
            option(MOVED, &self.moved.to_le_bytes());
        }
        if self.is_outlier {
            option(OUTLIER, &[]);
        }
    }
}

/// The body of a block after its signature. Parts are little-endian.
struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    fn of(body: &'a [u8], order: ByteOrder) -> Option<Self> {
        let body = body.strip_prefix(SIGNATURE)?;
        (order == ByteOrder::Little).then_some(Self(body))
    }

    fn word(&self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(*self.0.get(at..)?.first_chunk()?))
    }

    fn wide(&self, at: usize) -> Option<u64> {
        Some(u64::from_le_bytes(*self.0.get(at..)?.first_chunk()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_of_a_packet_is_read_as_it_was_written() {
        for moved in [0, 9, -130] {
            let mark = PartMark {
                record: 1 << 40,
                moved,
                begins: Some((3, None)),
                ended: vec![1, 2],
                is_outlier: moved > 0,
            };
            let mut options = Vec::new();
            mark.write(&mut options);
            // The length of the block follows, and `opt_endofopt` before it.
            options.extend([0; 8]);
            let options = PacketOptions {
                tail: &options,
                order: ByteOrder::Little,
            };
            assert_eq!(PartMark::read(&options), Some(mark));
        }
    }

    #[test]
    fn the_end_of_a_part_is_read_as_it_was_written() {
        for damage in [None, Some("record at byte 24 is odd".to_owned())] {
            let end = PartEnd {
                flows: 9,
                is_late_out_of_order: true,
                no_time: 3,
                time_out_of_range: 4,
                damaged_places: u64::from(damage.is_some()),
                damage,
            };
            let body = end.to_body();
            assert_eq!(PartEnd::read(&body, ByteOrder::Little), Some(end));
            let cut = &body[..body.len() - 1];
            assert_eq!(PartEnd::read(cut, ByteOrder::Little), None);
        }
    }
}
