//! What two captures have in common, from a pass over them or from a survey.

use tcpexp_pair::spp;

use crate::alignment::{Aligned, align_for, both};
use crate::selection::Reading;
#[cfg(feature = "tables")]
use crate::survey::{applied, set_order};
use crate::{Error, Recording};

/// Learns from a first pass over the captures, or from the survey in the options.
pub(crate) fn aligned<'a>(
    src: &'a Recording,
    dst: &'a Recording,
    reading: &'a Reading,
    options: spp::Options,
) -> Result<Aligned<'a>, Error> {
    #[cfg(feature = "tables")]
    if let Some(survey) = &reading.survey {
        set_order(survey, [src, dst])?;
        return applied(survey, [src, dst], reading, options);
    }
    let views = both(src, dst, reading, options.clocks)?;
    Ok(Aligned {
        alignment: align_for(views[0], views[1], options)?,
        views,
        first: None,
    })
}
