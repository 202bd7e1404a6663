//! Locates the headers of a frame, and changes fields with their checksums.

use std::ops::Range;

const ETHERNET: u32 = 1;
const RAW_IP: u32 = 101;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Byte offsets of the headers of one TCP or UDP packet in its frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Headers {
    ip: usize,
    is_v6: bool,
    transport: usize,
    pub(crate) is_tcp: bool,
}

impl Headers {
    /// Locates the headers; `None` for anything but an unfragmented TCP or UDP packet with complete
    /// fixed headers.
    pub(crate) fn find(link_type: u32, frame: &[u8]) -> Option<Self> {
        let mut ip = match link_type {
            ETHERNET => 14,
            RAW_IP => 0,
            _ => return None,
        };
        if link_type == ETHERNET && frame.get(12..14)? == [0x81, 0x00] {
            ip += 4;
        }
        let is_v6 = match frame.get(ip)? >> 4 {
            4 => false,
            6 => true,
            _ => return None,
        };
        let (transport, protocol) = if is_v6 {
            (ip + 40, *frame.get(ip + 6)?)
        } else {
            let fragment = u16::from_be_bytes(*frame.get(ip + 6..)?.first_chunk()?) & 0x3FFF;
            if fragment != 0 {
                return None;
            }
            let words = usize::from(frame[ip] & 0xF);
            (ip + 4 * words, *frame.get(ip + 9)?)
        };
        let fixed = match protocol {
            TCP => 20,
            UDP => 8,
            _ => return None,
        };
        (frame.len() >= transport + fixed).then_some(Self {
            ip,
            is_v6,
            transport,
            is_tcp: protocol == TCP,
        })
    }

    /// The IPv4 Identification field; `None` for IPv6.
    pub(crate) fn ip_id(&self) -> Option<Range<usize>> {
        (!self.is_v6).then_some(self.ip + 4..self.ip + 6)
    }

    /// Source and destination address.
    pub(crate) fn addresses(&self) -> [Range<usize>; 2] {
        let (first, length) = if self.is_v6 {
            (self.ip + 8, 16)
        } else {
            (self.ip + 12, 4)
        };
        [first..first + length, first + length..first + 2 * length]
    }

    /// Source and destination port.
    pub(crate) fn ports(&self) -> [Range<usize>; 2] {
        let at = self.transport;
        [at..at + 2, at + 2..at + 4]
    }

    /// Sequence and acknowledgment number of a TCP header.
    pub(crate) fn sequence_numbers(&self) -> [Range<usize>; 2] {
        let at = self.transport;
        [at + 4..at + 8, at + 8..at + 12]
    }

    /// True if the ACK flag of a TCP header is set.
    pub(crate) fn acknowledges(&self, frame: &[u8]) -> bool {
        frame[self.transport + 13] & 0x10 != 0
    }

    /// Offset of the first byte after the UDP header.
    pub(crate) fn datagram(&self) -> usize {
        self.transport + 8
    }

    /// The UDP checksum field.
    pub(crate) fn udp_checksum(&self) -> Range<usize> {
        self.transport + 6..self.transport + 8
    }

    /// The captured TCP options with their kinds; omits padding.
    pub(crate) fn options(&self, frame: &[u8]) -> Vec<(u8, Range<usize>)> {
        let length = usize::from(frame[self.transport + 12] >> 4) * 4;
        let end = frame.len().min(self.transport + length);
        let mut found = Vec::new();
        let mut at = self.transport + 20;
        while at + 1 < end {
            match (frame[at], usize::from(frame[at + 1])) {
                (0, _) => break,
                (1, _) => at += 1,
                (kind, length) if length >= 2 && at + length <= end => {
                    found.push((kind, at..at + length));
                    at += length;
                }
                _ => break,
            }
        }
        found
    }

    /// Writes `new` at `at` and updates the affected checksums (RFC 1624, equation 3).
    ///
    /// A UDP checksum of zero means no checksum and stays zero.
    pub(crate) fn write(&self, frame: &mut [u8], at: usize, new: &[u8]) {
        let is_in_ip_header = at < self.transport;
        let is_address = self.addresses().iter().any(|range| range.contains(&at));
        if is_in_ip_header && !self.is_v6 {
            update(frame, self.ip + 10, self.ip, at, new);
        }
        if !is_in_ip_header || is_address {
            let field = self.transport + if self.is_tcp { 16 } else { 6 };
            let has_none = !self.is_tcp && frame[field..field + 2] == [0, 0];
            if !has_none {
                let base = if is_in_ip_header {
                    self.ip
                } else {
                    self.transport
                };
                update(frame, field, base, at, new);
            }
        }
        frame[at..at + new.len()].copy_from_slice(new);
    }
}

/// Updates the checksum at `field` for `new` bytes at `at`; `base` is the offset of the first
/// 16-bit word in the sum.
fn update(frame: &mut [u8], field: usize, base: usize, at: usize, new: &[u8]) {
    let mut sum = u32::from(!u16::from_be_bytes([frame[field], frame[field + 1]]));
    for (place, byte) in (at..).zip(new) {
        let shift = if (place - base).is_multiple_of(2) {
            8
        } else {
            0
        };
        sum += u32::from(!(u16::from(frame[place]) << shift));
        sum += u32::from(u16::from(*byte) << shift);
    }
    while sum > 0xFFFF {
        sum = (sum >> 16) + (sum & 0xFFFF);
    }
    let sum = u16::try_from(sum).expect("the carries are folded in");
    frame[field..field + 2].copy_from_slice(&(!sum).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use tcpexp_testkit::FrameSpec;

    use super::*;

    fn sum(words: &[u8]) -> u16 {
        let mut sum: u32 = words
            .chunks(2)
            .map(|pair| u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)])))
            .sum();
        while sum > 0xFFFF {
            sum = (sum >> 16) + (sum & 0xFFFF);
        }
        u16::try_from(sum).unwrap()
    }

    #[test]
    fn checksums_stay_valid_when_an_address_and_a_sequence_number_change() {
        let mut frame = FrameSpec::default().to_bytes();
        let headers = Headers::find(ETHERNET, &frame).unwrap();
        let [source, _] = headers.addresses();
        headers.write(&mut frame, source.start, &[198, 51, 100, 77]);
        let [seq, _] = headers.sequence_numbers();
        headers.write(&mut frame, seq.start, &[1, 2, 3, 4]);
        assert_eq!(sum(&frame[14..34]), 0xFFFF);
        let segment = &frame[34..];
        let mut pseudo = frame[26..34].to_vec();
        pseudo.extend([0, TCP]);
        pseudo.extend(u16::try_from(segment.len()).unwrap().to_be_bytes());
        pseudo.extend(segment);
        assert_eq!(sum(&pseudo), 0xFFFF);
    }
}
