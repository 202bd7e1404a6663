//! Bytes of a capture file to timestamped records, without copying.
