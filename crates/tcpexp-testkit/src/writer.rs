//! Writes capture files: classic pcap and pcapng in all byte orders and resolutions.

use std::io::{self, Write};

use tcpexp_units::Timestamp;

/// The capture file format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Container {
    /// Classic pcap: one interface, microseconds or nanoseconds.
    #[default]
    Pcap,
    /// pcapng: any number of interfaces, each with its own resolution.
    Pcapng,
}

/// Byte order of the numbers in a file's headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Endian {
    /// Least significant byte first.
    #[default]
    Little,
    /// Most significant byte first.
    Big,
}

/// Timestamp unit of a file. Times are rounded down to this unit, as in real captures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resolution {
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    #[default]
    Nanos,
    /// Units of 10 to the power of minus this number of seconds; pcapng only.
    Decimal(u8),
    /// Units of 2 to the power of minus this number of seconds; pcapng only.
    Binary(u8),
}

impl Resolution {
    /// The value of pcapng's `if_tsresol` option.
    const fn tsresol(self) -> u8 {
        match self {
            Self::Micros => 6,
            Self::Nanos => 9,
            Self::Decimal(power) => power,
            Self::Binary(power) => power | 0x80,
        }
    }

    fn units(self, at: Timestamp) -> u64 {
        // In 128 bits: today's nanoseconds times the units per second exceed 64 bits.
        let nanos = u128::try_from(at.as_nanos()).expect("a capture file has no time before 1970");
        let per_second = match self.tsresol() {
            power @ 0..0x80 => 10_u128.pow(power.into()),
            power => 1 << (power & 0x7F),
        };
        u64::try_from(nanos * per_second / 1_000_000_000).expect("the time fits the file's 64 bits")
    }
}

/// One interface of a capture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Link type of the frames, see [`Framing::link_type`](crate::Framing::link_type).
    pub link_type: u32,
    /// Snapshot length in bytes; longer frames are truncated.
    pub snaplen: u32,
    /// Timestamp unit.
    pub resolution: Resolution,
}

impl Default for Interface {
    /// Whole Ethernet frames with nanosecond timestamps.
    fn default() -> Self {
        Self {
            link_type: 1,
            snaplen: 262_144,
            resolution: Resolution::Nanos,
        }
    }
}

/// Writes a capture file, record by record.
///
/// ```
/// use tcpexp_testkit::{CaptureWriter, Container, Endian, FrameSpec, Interface};
/// use tcpexp_units::Timestamp;
///
/// let frame = FrameSpec::default().to_bytes();
/// let mut writer =
///     CaptureWriter::new(Vec::new(), Container::Pcap, Endian::Big, &[Interface::default()])?;
/// writer.write(Timestamp::from_nanos(5), &frame, 54)?;
/// assert_eq!(writer.into_inner().len(), 24 + 16 + 54);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct CaptureWriter<W> {
    out: W,
    container: Container,
    endian: Endian,
    interfaces: Vec<Interface>,
    scratch: Vec<u8>,
}

impl<W: Write> CaptureWriter<W> {
    /// Creates a file and writes its headers.
    ///
    /// # Panics
    ///
    /// Panics if a classic pcap has other than one interface, or a resolution other than
    /// microseconds and nanoseconds.
    pub fn new(
        out: W,
        container: Container,
        endian: Endian,
        interfaces: &[Interface],
    ) -> io::Result<Self> {
        let mut writer = Self {
            out,
            container,
            endian,
            interfaces: interfaces.to_vec(),
            scratch: Vec::new(),
        };
        match container {
            Container::Pcap => writer.pcap_header(),
            Container::Pcapng => writer.pcapng_header(),
        }
        writer.out.write_all(&writer.scratch)?;
        Ok(writer)
    }

    /// Appends a frame on the first interface; `wire_len` is its length on the wire in bytes.
    pub fn write(&mut self, at: Timestamp, frame: &[u8], wire_len: u32) -> io::Result<()> {
        self.write_on(0, at, frame, wire_len)
    }

    /// Appends a frame on one interface, numbered from 0.
    pub fn write_on(
        &mut self,
        interface: u32,
        at: Timestamp,
        frame: &[u8],
        wire_len: u32,
    ) -> io::Result<()> {
        let on = self.interfaces[interface as usize];
        let kept = &frame[..frame.len().min(on.snaplen as usize)];
        let units = on.resolution.units(at);
        self.scratch.clear();
        match self.container {
            Container::Pcap => {
                let per_second = 10_u64.pow(on.resolution.tsresol().into());
                let seconds = u32::try_from(units / per_second).expect("classic pcap ends in 2106");
                self.number(seconds);
                self.number((units % per_second) as u32);
                self.number(kept.len() as u32);
                self.number(wire_len);
                self.scratch.extend_from_slice(kept);
            }
            Container::Pcapng => {
                let padded = kept.len().next_multiple_of(4);
                let block_len = 32 + padded as u32;
                for number in [
                    6,
                    block_len,
                    interface,
                    (units >> 32) as u32,
                    units as u32,
                    kept.len() as u32,
                    wire_len,
                ] {
                    self.number(number);
                }
                self.scratch.extend_from_slice(kept);
                self.scratch.resize(28 + padded, 0);
                self.number(block_len);
            }
        }
        self.out.write_all(&self.scratch)
    }

    /// Returns the underlying writer.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Flushes the underlying writer.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn pcap_header(&mut self) {
        let &[only] = &self.interfaces[..] else {
            panic!(
                "classic pcap has one interface, not {}",
                self.interfaces.len()
            );
        };
        self.number(match only.resolution {
            Resolution::Micros => 0xA1B2_C3D4,
            Resolution::Nanos => 0xA1B2_3C4D,
            other => panic!("classic pcap has no timestamps in {other:?}"),
        });
        self.short(2);
        self.short(4);
        for number in [0, 0, only.snaplen, only.link_type] {
            self.number(number);
        }
    }

    fn pcapng_header(&mut self) {
        for number in [0x0A0D_0D0A, 28, 0x1A2B_3C4D] {
            self.number(number);
        }
        self.short(1);
        self.short(0);
        // Unknown section length.
        for number in [u32::MAX, u32::MAX, 28] {
            self.number(number);
        }
        for interface in self.interfaces.clone() {
            self.number(1);
            self.number(32);
            self.short(interface.link_type as u16);
            self.short(0);
            self.number(interface.snaplen);
            // `if_tsresol`: a value of 1 byte, padded to 4. Code 0 ends the options.
            self.short(9);
            self.short(1);
            self.scratch
                .extend([interface.resolution.tsresol(), 0, 0, 0]);
            self.number(0);
            self.number(32);
        }
    }

    fn number(&mut self, number: u32) {
        self.scratch.extend(match self.endian {
            Endian::Little => number.to_le_bytes(),
            Endian::Big => number.to_be_bytes(),
        });
    }

    fn short(&mut self, number: u16) {
        self.scratch.extend(match self.endian {
            Endian::Little => number.to_le_bytes(),
            Endian::Big => number.to_be_bytes(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NANOS: i64 = 1_700_000_000_123_456_789;

    struct Reader<'a> {
        left: &'a [u8],
        endian: Endian,
    }

    impl<'a> Reader<'a> {
        fn bytes(&mut self, len: usize) -> &'a [u8] {
            let (taken, left) = self.left.split_at(len);
            self.left = left;
            taken
        }

        fn number(&mut self) -> u32 {
            let bytes = *self.bytes(4).first_chunk().unwrap();
            match self.endian {
                Endian::Little => u32::from_le_bytes(bytes),
                Endian::Big => u32::from_be_bytes(bytes),
            }
        }
    }

    fn written(container: Container, endian: Endian, interfaces: &[Interface]) -> Vec<u8> {
        let mut writer = CaptureWriter::new(Vec::new(), container, endian, interfaces).unwrap();
        let last = interfaces.len() as u32 - 1;
        writer
            .write_on(last, Timestamp::from_nanos(NANOS), b"abcdefg", 1500)
            .unwrap();
        writer.into_inner()
    }

    #[test]
    fn classic_pcap_reads_back_in_both_byte_orders_and_resolutions() {
        for (resolution, magic, fraction) in [
            (Resolution::Micros, 0xA1B2_C3D4, 123_456),
            (Resolution::Nanos, 0xA1B2_3C4D, 123_456_789),
        ] {
            for endian in [Endian::Little, Endian::Big] {
                let interface = Interface {
                    link_type: 113,
                    snaplen: 5,
                    resolution,
                };
                let bytes = written(Container::Pcap, endian, &[interface]);
                let mut file = Reader {
                    left: &bytes,
                    endian,
                };
                assert_eq!(file.number(), magic);
                file.bytes(12);
                assert_eq!([file.number(), file.number()], [5, 113]);
                assert_eq!([file.number(), file.number()], [1_700_000_000, fraction]);
                assert_eq!([file.number(), file.number()], [5, 1500]);
                assert_eq!(file.left, b"abcde");
            }
        }
    }

    #[test]
    fn pcapng_reads_back_with_each_interface_in_its_own_resolution() {
        let second = Interface {
            link_type: 101,
            resolution: Resolution::Binary(20),
            ..Interface::default()
        };
        for endian in [Endian::Little, Endian::Big] {
            let bytes = written(Container::Pcapng, endian, &[Interface::default(), second]);
            let mut file = Reader {
                left: &bytes,
                endian,
            };
            let mut kinds = Vec::new();
            while !file.left.is_empty() {
                kinds.push(file.number());
                let len = file.number() as usize;
                let mut body = Reader {
                    left: file.bytes(len - 12),
                    endian,
                };
                assert_eq!(file.number() as usize, len);
                if kinds.last() == Some(&6) {
                    assert_eq!(body.number(), 1);
                    let units = u64::from(body.number()) << 32 | u64::from(body.number());
                    assert_eq!(units, ((NANOS as u128 * (1 << 20)) / 1_000_000_000) as u64);
                    assert_eq!([body.number(), body.number()], [7, 1500]);
                    assert_eq!(body.left, b"abcdefg\0");
                }
            }
            assert_eq!(kinds, [0x0A0D_0D0A, 1, 1, 6]);
        }
    }
}
