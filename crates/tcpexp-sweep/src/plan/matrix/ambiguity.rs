//! Refuses a matrix that sets one value of a plan in two ways.

use super::{Axis, Settings};
use crate::plan::error::Fault;
use crate::plan::place::{self, Place};

/// Refuses two lists, or two keys of one table, that set the same value: only the last would count. Also refuses
/// two tables with the same name in one list.
pub(super) fn unambiguous(axes: &[Axis<'_>]) -> Result<(), Fault> {
    // Two lists may have one name: "path.forward.rate" and path.forward.rate.
    let mut places: Vec<(usize, Place)> = Vec::new();
    for (index, axis) in axes.iter().enumerate() {
        for setting in axis.points.iter().flat_map(|point| &point.settings) {
            let place = Place::new(setting.key.get_ref());
            let mut others = places.iter().filter(|(other, _)| *other != index);
            if let Some((other, _)) = others.find(|(_, known)| known.overlaps(&place)) {
                let other = &axes[*other].name;
                let message = format!("expected another key, because {other} sets it too");
                return Err(Fault::new(setting.key.span(), message));
            }
            if !places.iter().any(|(_, known)| *known == place) {
                places.push((index, place));
            }
        }
        for point in &axis.points {
            check_unique(&point.settings)?;
        }
        let mut labels: Vec<&str> = Vec::new();
        for point in &axis.points {
            let Some(label) = &point.label else {
                continue;
            };
            if labels.contains(&label.as_str()) {
                let span = point.settings.first().map(|setting| setting.key.span());
                let message = format!("expected a name of its own, found {label:?} twice");
                return Err(Fault::new(span.unwrap_or_default(), message));
            }
            labels.push(label);
        }
    }
    Ok(())
}

/// Refuses two keys of one table that set the same value.
pub(super) fn check_unique(settings: &Settings<'_>) -> Result<(), Fault> {
    place::check_unique(settings.iter().map(|setting| {
        let key = setting.key.get_ref();
        (Place::new(key), key.as_str(), setting.key.span())
    }))
}
