//! Reads the timestamped records of a capture file without copying.
//!
//! Reads pcap (micro- and nanoseconds, both byte orders, the "modified" variant, the swapped
//! lengths of version 2.2) and pcapng (sections, interfaces, every packet block, drop counters),
//! plain or compressed with gzip, zstd or LZ4. The content decides the format; the file name does not
//! matter. A plain file is mapped and its records borrow from the mapping; all other input goes
//! through one bounded buffer.
//!
//! [`PcapngWriter`] writes pcapng files.
//!
//! A file without a usable header is an [`Error`]. A file that breaks off, or that has garbage between
//! its records, yields every sound record and a [`Damage`] with the first bad offset.
//!
//! ```
//! use tcpexp_capture::Capture;
//!
//! let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
//! file.extend([0, 0, 4, 0, 1, 0, 0, 0]); // snaplen 262144, Ethernet
//! file.extend([1, 0, 0, 0, 2, 0, 0, 0]); // at 1.000002 s
//! file.extend([3, 0, 0, 0, 60, 0, 0, 0, 0xaa, 0xbb, 0xcc]); // 3 of 60 bytes
//!
//! let mut capture = Capture::from_bytes(&file)?;
//! assert_eq!(capture.format().to_string(), "pcap, microseconds, little-endian");
//! while let Some(record) = capture.next_record() {
//!     assert_eq!(record.at.unwrap().as_nanos(), 1_000_002_000);
//!     assert_eq!((record.wire_bytes, record.captured), (60, &[0xaa, 0xbb, 0xcc][..]));
//! }
//! assert!(capture.damage().is_none());
//! # Ok::<(), tcpexp_capture::Error>(())
//! ```

mod capture;
mod clock;
mod compression;
mod damage;
mod error;
mod format;
mod map;
mod outlier;
mod part;
mod pcap;
mod pcapng;
mod record;
mod source;
mod step;
mod walk;
mod writer;

#[cfg(test)]
mod build;
#[cfg(test)]
mod laws;

pub use capture::Capture;
pub use clock::Resolution;
pub use compression::{Compression, decompressed};
pub use damage::Damage;
pub use error::{Error, FirstBytes, Foreign};
pub use format::{ByteOrder, Format};
pub use map::{MappedFile, Passage};
pub use part::{PART_VERSION, PartEnd, PartHead, PartMark};
pub use record::{HeldOptions, Interface, NoTime, PacketOptions, Record};
pub use writer::PcapngWriter;
