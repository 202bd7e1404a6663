//! The colours of series.

use plotters::style::RGBColor;

/// The Okabe-Ito palette, which readers of any colour vision tell apart, without its yellow,
/// which white paper swallows.
pub(crate) const COLOURS: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0x56, 0xB4, 0xE9),
    RGBColor(0xE6, 0x9F, 0x00),
    RGBColor(0x00, 0x00, 0x00),
];

/// What is about several series together.
pub(crate) const GREYS: [RGBColor; 2] = [RGBColor(0xAA, 0xAA, 0xAA), RGBColor(0xD5, 0xD5, 0xD5)];
