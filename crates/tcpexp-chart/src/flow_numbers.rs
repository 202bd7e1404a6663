//! Numbers of flows: a flow has the same colour and name in all panels of a figure.

use std::collections::{BTreeMap, BTreeSet};

use tcpexp_table::Frame;

use crate::flow_line::{lines_of, name_of_reverse};
use crate::theme::SERIES;
use crate::{Error, LineKind, TimePanel};

/// Numbers of flows beside the threshold and the flight size of a sender, which have colours of their
/// own.
const BESIDE_WINDOW: [usize; SERIES] = [0, 1, 3, 4, 6, 7, 8];

/// The lines by name, with the same number in all panels.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    names: Vec<String>,
    /// Names of all lines, also of those without a number.
    known: BTreeSet<String>,
    /// Numbers of the lines that some panel has.
    drawn: BTreeSet<usize>,
}

impl Flows {
    /// Numbers the flows of a table, those with the largest sum of `column` first.
    ///
    /// With these numbers a flow has the same colour in all time series of the same flows, whatever the
    /// panels.
    pub fn by_size(frame: &Frame, column: &str) -> Result<Self, Error> {
        let mut sizes: BTreeMap<String, f64> = BTreeMap::new();
        for line in lines_of(frame, column)? {
            *sizes.entry(line.name.clone()).or_default() += line.sum();
        }
        let known = sizes.keys().cloned().collect();
        let mut sizes: Vec<(String, f64)> = sizes.into_iter().collect();
        // The sort is stable: flows of the same size are in the order of their names.
        sizes.sort_by(|a, b| b.1.total_cmp(&a.1));
        let names = sizes.into_iter().map(|(name, _)| name);
        Ok(Self {
            names: names.take(SERIES).collect(),
            known,
            drawn: BTreeSet::new(),
        })
    }

    /// The number of a line that is drawn; `None` if all colours are in use.
    pub(crate) fn number(&mut self, name: &str) -> Option<usize> {
        self.known.insert(name.to_owned());
        let numbered = self.names.iter().position(|numbered| numbered == name);
        let number = numbered.or_else(|| {
            if self.names.len() == SERIES {
                return None;
            }
            self.names.push(name.to_owned());
            Some(self.names.len() - 1)
        });
        self.drawn.extend(number);
        number
    }

    /// Name of the line of a group's queue. If all flows of the group have one direction, the queue has the name,
    /// and so the colour, of their line. Rows of queues have no direction.
    pub(crate) fn name_of_queue(&self, group: &str) -> String {
        let reverse = name_of_reverse(group);
        let [has_forward, has_reverse] = [group, &reverse].map(|name| self.known.contains(name));
        match (has_forward, has_reverse) {
            (false, true) => reverse,
            (true, true) => format!("{group} (queue)"),
            (_, false) => group.to_owned(),
        }
    }

    /// True if there is at most one line, which needs no name in the legend.
    pub fn is_one(&self) -> bool {
        self.drawn.len() < 2
    }

    /// The name of the only line; `None` with several or none.
    pub fn only(&self) -> Option<&str> {
        let mut drawn = self.drawn.iter();
        match (drawn.next(), drawn.next()) {
            (Some(number), None) => Some(&self.names[*number]),
            _ => None,
        }
    }

    /// Removes the labels if there is only one line. With several, gives each flow one name and one
    /// colour in all panels, also for its window.
    pub fn name_lines(&self, panels: &mut [TimePanel]) {
        let has_window = panels.iter().any(|panel| panel.sender.is_some());
        for panel in panels {
            for line in &mut panel.lines {
                match (&mut line.kind, panel.sender) {
                    (LineKind::Samples(_) | LineKind::Steps(_) | LineKind::Bins(_), _)
                        if self.is_one() =>
                    {
                        line.label = None;
                    }
                    (
                        LineKind::Samples(number)
                        | LineKind::Steps(number)
                        | LineKind::Bins(number),
                        _,
                    ) if has_window => *number = BESIDE_WINDOW[*number],
                    (LineKind::Estimate, Some(number)) if !self.is_one() => {
                        line.kind = LineKind::Steps(BESIDE_WINDOW[number]);
                        line.label = Some(self.names[number].clone());
                    }
                    _ => {}
                }
            }
        }
    }
}
