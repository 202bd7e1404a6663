//! The size table of a link on Linux (tc-stab(8)): the bytes that the kernel counts for a packet.

use std::fmt::Write as _;

use super::check::OptionFact;
use crate::bottleneck::{Cells, ETHERNET_HEADER, Path};

/// Entries of the table, and the largest packet in it plus one: an entry for each size. `tc` spreads
/// fewer entries over the sizes, which rounds sizes up.
const ENTRIES: u64 = 2_048;

/// The words before the kind of the root, with a blank at the end, and the facts to read back. Empty if
/// the kernel's own count is right.
pub(super) fn size_table(path: &Path) -> (String, Vec<OptionFact>) {
    let Some(framing) = path.framing() else {
        return (String::new(), Vec::new());
    };
    // The kernel adds to the Ethernet frame, `skb->len`.
    let overhead = framing.overhead - ETHERNET_HEADER;
    let mut words = String::new();
    let mut facts = Vec::new();
    if framing.cells == Cells::Atm {
        words += "linklayer atm ";
        facts.push(OptionFact::word("stab.linklayer", "atm"));
    }
    if overhead != 0 {
        let _ = write!(words, "overhead {overhead} ");
        facts.push(OptionFact::number("stab.overhead", overhead.into(), 0.0));
    }
    if framing.minimum > 0 {
        let _ = write!(words, "mpu {} ", framing.minimum);
        facts.push(OptionFact::count("stab.mpu", framing.minimum.into()));
    }
    // Without cells and minimum, the kernel adds the overhead and needs no table.
    if framing.cells == Cells::Atm || framing.minimum > 0 {
        let _ = write!(words, "mtu {} tsize {ENTRIES} ", ENTRIES - 1);
        facts.push(OptionFact::count("stab.tsize", ENTRIES));
    }
    if words.is_empty() {
        return (words, facts);
    }
    (format!("stab {words}"), facts)
}
