//! The descriptions that capture files contain of themselves.

use std::path::Path;

use tcpexp_capture::{Capture, Compression, Format, Interface};
use tcpexp_store::shown_url;
use tcpexp_units::with_causes;

/// Format, interfaces and damage of one or several files.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    /// Of the first file.
    pub(crate) format: Format,
    pub(crate) compression: Option<Compression>,
    pub(crate) interfaces: Vec<Interface>,
    /// The first damage.
    pub(crate) damage: Option<String>,
    pub(crate) damaged_places: u64,
}

impl Described {
    /// Describes the part of a capture that has been read.
    pub(crate) fn of(capture: &Capture<'_>) -> Self {
        Self {
            format: capture.format(),
            compression: capture.compression(),
            interfaces: capture.interfaces().to_vec(),
            damage: capture.damage().map(|damage| with_causes(damage)),
            damaged_places: capture.damaged_places(),
        }
    }

    /// Names the file of the damage, for a file among several.
    pub(crate) fn of_file(self, path: &Path) -> Self {
        let damage = self.damage;
        Self {
            damage: damage.map(|damage| format!("{}: {damage}", shown_url(path))),
            ..self
        }
    }

    /// Adds the next file.
    pub(crate) fn add(&mut self, other: Self) {
        for interface in other.interfaces {
            self.add_interface(interface);
        }
        self.damage = self.damage.take().or(other.damage);
        self.damaged_places += other.damaged_places;
    }

    /// Adds an interface, or its counters to the same interface of an earlier file.
    fn add_interface(&mut self, interface: Interface) {
        let same = self.interfaces.iter_mut().find(|known| {
            known.link_type == interface.link_type
                && known.name == interface.name
                && known.snaplen == interface.snaplen
                && known.resolution == interface.resolution
        });
        let Some(known) = same else {
            self.interfaces.push(interface);
            return;
        };
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            // A damaged file may hold any counters.
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        known.received = sum(known.received, interface.received);
        known.dropped = sum(known.dropped, interface.dropped);
    }

    /// Adds a file that could not be opened.
    pub(crate) fn add_failure(&mut self, error: &dyn std::error::Error) {
        self.damage.get_or_insert_with(|| with_causes(error));
        self.damaged_places += 1;
    }
}
