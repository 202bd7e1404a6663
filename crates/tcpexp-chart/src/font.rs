//! The font of all text.

/// Liberation Sans, see `fonts/LICENSE.txt`.
pub(crate) const FONT: &[u8] = include_bytes!("../fonts/LiberationSans-Regular.ttf");
