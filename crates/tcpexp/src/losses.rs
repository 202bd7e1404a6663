//! Losses between two captures, compared with the drops that a bottleneck logged.

use std::collections::HashMap;
use std::path::Path;

use tcpexp_flow::Packets;
use tcpexp_logs::import::{self, LoggedDrop};
use tcpexp_logs::score::{LossScore, Transmission};
use tcpexp_pair::path::PathPacket;
use tcpexp_pair::spp::{Clocks, Fate, PathDirection};
use tcpexp_wire::Transport;

use crate::alignment::both;
use crate::{CaptureInfo, CaptureOptions, Error, LogFile, Recording, fates};

/// Reads the drops in a bottleneck's log. See [`LoggedDrop::of_line`] for the line format.
///
/// Also returns true if the log is truncated. Its incomplete last line is not used: a number that
/// is cut off looks like a smaller number.
pub fn logged_drops(path: &Path) -> Result<(Vec<LoggedDrop>, bool), Error> {
    let mut drops = Vec::new();
    let mut line = 0;
    let mut is_cut = false;
    let breaks_off = LogFile::open(path)?.each_line(|text| {
        line += 1;
        if !text.ends_with('\n') {
            is_cut = true;
            return Ok(());
        }
        let dropped = LoggedDrop::of_line(text).map_err(|source| Error::Log {
            path: path.to_owned(),
            source: import::Error::Line { line, source },
        })?;
        drops.extend(dropped);
        Ok(())
    })?;
    Ok((drops, is_cut || breaks_off))
}

/// Compares the losses of TCP data from `src` to `dst` with a bottleneck's drops.
///
/// Returns the score and the summaries of both captures, source first. Reads `src` three times and
/// `dst` twice, and both once more if one of them missed packets. Memory grows with the number of packets.
pub fn loss_score(
    src: &Recording,
    dst: &Recording,
    options: &CaptureOptions,
    drops: &[LoggedDrop],
) -> Result<(LossScore, [CaptureInfo; 2]), Error> {
    let [src, dst] = both(src, dst, &options.reading, Clocks::Separate)?;
    // Number of lost packets by record.
    let (lost, infos) = fates::gather(src, dst, |lost: &mut HashMap<u64, u64>, batch| {
        for packet in batch.packets.iter().filter(|packet| is_known(packet)) {
            let Some(record) = packet.sent_record else {
                continue;
            };
            // A delivered packet gets an entry with 0, because drops count for captured packets
            // only.
            let lost = lost.entry(record).or_default();
            if packet.fate == Fate::Lost {
                *lost += packet.packets;
            }
        }
    })?;
    let mut sent = Vec::with_capacity(lost.len());
    // Fates have record numbers but no sequence numbers, which this pass adds.
    src.walk_once()?.show(usize::MAX, |sighted| {
        if let Transport::Tcp(tcp) = &sighted.packet.transport
            && let Some(lost_packets) = lost.get(&sighted.record)
        {
            sent.push(Transmission {
                seq: tcp.seq,
                payload_bytes: sighted.packet.payload_bytes,
                lost_packets: *lost_packets,
            });
        }
    });
    src.recording().require_whole_passes()?;
    Ok((LossScore::of(&sent, drops), infos))
}

/// True for a packet with data, from source to destination, whose loss or arrival is known.
fn is_known(packet: &PathPacket) -> bool {
    let is_one = matches!(
        packet.fate,
        Fate::Delivered | Fate::Missed | Fate::Lost | Fate::Ambiguous | Fate::Duplicate
    );
    is_one && packet.path_direction == PathDirection::Out && packet.payload_bytes > 0
}
