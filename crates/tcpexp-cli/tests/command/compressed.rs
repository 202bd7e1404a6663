//! Compressed captures.

use std::io::Write;

use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};

use crate::desk::{Desk, gzip, reason, text};

fn lz4(bytes: &[u8]) -> Vec<u8> {
    // Small blocks, so that a truncated file still yields a part of the data.
    let blocks = FrameInfo::new().block_size(BlockSize::Max64KB);
    let mut out = FrameEncoder::with_frame_info(blocks, Vec::new());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn zst(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

#[test]
fn compressed_captures_are_read_under_any_name() {
    let desk = Desk::new();
    let table = desk.text("rtt src.pcap dst.pcap");
    let src = desk.get("src.pcap");
    for (name, compressed) in [
        ("gzip", gzip(&src)),
        ("zstd", zst(&src)),
        ("lz4", lz4(&src)),
    ] {
        desk.put("capture", &compressed);
        assert_eq!(desk.text("rtt capture dst.pcap"), table, "{name}");
        let info = desk.text("info capture");
        let format = info.lines().nth(1).unwrap();
        assert!(format.ends_with(name), "{format}");
    }
}

#[test]
fn truncated_compressed_data_yields_a_result_and_a_warning() {
    let desk = Desk::new();
    let src = desk.get("src.pcap");
    for compressed in [gzip(&src), zst(&src), lz4(&src)] {
        desk.put("cut", &compressed[..compressed.len() / 2]);
        let output = desk.run("rtt cut dst.pcap");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(!output.stdout.is_empty());
        let warning = reason(&output);
        assert!(warning.starts_with("warning: cut: "), "{warning}");
        assert!(warning.contains(" bytes"), "{warning}");
    }
}
