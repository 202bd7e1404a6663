//! Named congestion controls against the true ones, for the captures of this repository and all
//! other available captures.

use std::path::Path;

use crate::common::{captures_in, fixture, fixture_folders, shared_folders};
use tcpexp::{CwndOptions, Error, Recording, cwnd};
use tcpexp_measure::naming::{Control, Named, Namer};

/// Minimum number of ACKs of a transfer. Control connections have fewer.
const MIN_ACKS: u64 = 100;

/// The senders of a capture.
fn named(capture: &Path) -> Vec<Named> {
    let recording = Recording::open(capture).unwrap();
    let mut namer = Namer::default();
    let mut all = Vec::new();
    cwnd(&recording, None, &CwndOptions::default(), |rows| {
        all.extend(rows.iter().filter_map(|row| namer.see(&row.row)));
        Ok::<(), Error>(())
    })
    .unwrap();
    all.retain(|named| named.evidence.acks >= MIN_ACKS);
    all
}

/// The congestion control of the transfers in a folder.
fn control_of(folder: &Path) -> Option<&'static str> {
    let name = folder.file_name()?.to_str()?;
    // The sender behind the ADSL line uses Reno.
    let controls = ["reno", "cubic", "vegas", "veno", "cdg", "bbr", "adsl"];
    let control = controls.into_iter().find(|control| name.contains(control));
    control.map(|control| if control == "adsl" { "reno" } else { control })
}

#[test]
fn no_sender_is_named_wrongly() {
    let mut wrong = Vec::new();
    let mut senders = 0;
    for folder in [fixture_folders(), shared_folders()].concat() {
        let Some(control) = control_of(&folder) else {
            continue;
        };
        let (src, dst) = captures_in(&folder).unwrap();
        for capture in [src, dst] {
            for named in named(&capture) {
                senders += 1;
                if named.answer.is_ok_and(|answer| answer.name() != control) {
                    wrong.push((capture.clone(), named));
                }
            }
        }
    }
    assert!(senders >= 10, "{senders}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn cubic_sender_of_super_packets_is_named() {
    let (src, _) = captures_in(&fixture("cubic-tso-split-10mbit")).unwrap();
    let answers: Vec<_> = named(&src).into_iter().map(|named| named.answer).collect();
    assert_eq!(answers, [Ok(Control::Cubic)]);
}
