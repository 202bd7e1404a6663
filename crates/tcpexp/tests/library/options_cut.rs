//! Captures whose snapshot length cuts TCP options off.

use tcpexp::{CaptureInfo, CwndOptions, Error, cwnd};
use tcpexp_measure::sender::{CwndSource, SenderRow};
use tcpexp_testkit::CaptureSpec;

use crate::common::{limited_upload_as, spooled};

/// Bytes of the headers of Ethernet, IPv4 and TCP, and of the first option of a SYN.
const WITHIN_OPTIONS: u32 = 14 + 20 + 20 + 4;

/// Windows, and their sources, of an upload whose capture at the source keeps this many bytes of
/// each packet.
fn windows(snaplen: u32) -> (Vec<(Option<u32>, CwndSource)>, CaptureInfo) {
    let spec = CaptureSpec {
        snaplen,
        ..CaptureSpec::default()
    };
    let capture = spooled("capture", &limited_upload_as(spec).src);
    let mut windows = Vec::new();
    let info = cwnd(&capture, None, &CwndOptions::default(), |rows| {
        for row in rows {
            if let SenderRow::Sample(sample) = row.row {
                windows.push((sample.cwnd_segments, sample.cwnd_source));
            }
        }
        Ok::<(), Error>(())
    });
    (windows, info.unwrap().swap_remove(0))
}

#[test]
fn a_syn_whose_options_are_cut_off_agrees_on_nothing() {
    let (whole, info) = windows(128);
    assert_eq!(info.tally.cut_options(), 0);
    let (cut, info) = windows(WITHIN_OPTIONS);
    assert!(info.tally.cut_options() > 1_000);
    assert_eq!(whole.len(), cut.len());
    let is_limited = |(_, source): &&(_, CwndSource)| *source == CwndSource::ReceiverLimited;
    let limited = [&whole, &cut].map(|windows| windows.iter().filter(is_limited).count());
    assert_eq!(limited, [limited[0]; 2]);
    // Without timestamps and SACK blocks, recoveries are not replayed in full.
    let is_equal = |(whole, cut): &(_, _)| whole == cut;
    let equal = whole.iter().zip(&cut).filter(is_equal).count();
    assert!(
        equal * 100 >= whole.len() * 85,
        "{equal} of {}",
        whole.len()
    );
}
