//! Bytes of one record to a view of its IP packet and TCP or UDP segment.

mod packet;

pub use packet::{Addresses, Packet, Ports, SeqNum, Tcp, Transport, Udp};
