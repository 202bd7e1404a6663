//! Themes: the colours of a figure's inks.

use plotters::style::RGBColor;

/// The colours of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Colours on white, for papers and pages.
    #[default]
    Paper,
    /// Colours on nearly black, for screens and slides.
    Dark,
    /// Greys on white, for print and readers without colour.
    Grey,
}

/// The role of a colour; a [`Theme`] maps it to a colour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ink {
    /// Axes and text.
    Black,
    /// Grid lines at ticks.
    Grid,
    /// A series, by number; beyond [`SERIES`] colours repeat in other shades.
    Series(usize),
    /// Several series pooled: darker (0) or lighter (1).
    Other(usize),
    /// The inside of a series' outlined area.
    Pale(usize),
    /// A series' single points beside their mean.
    Soft(usize),
    /// A light shade below lines: lighter (0) or darker (1).
    Shade(usize),
    /// A position on the scale of a heat map, from 0 to 1.
    Heat(f64),
    /// The background.
    Paper,
}

/// Number of series that differ in colour.
pub const SERIES: usize = 7;

/// Shades of each palette colour; beyond these, dashes and markers distinguish series.
const ROUNDS: usize = 3;

/// The Okabe-Ito palette, distinguishable with any colour vision, without its yellow, which is too
/// faint on white.
const ON_WHITE: [u32; SERIES] = [
    0x00_72_B2, 0xD5_5E_00, 0x00_9E_73, 0xCC_79_A7, 0x56_B4_E9, 0xE6_9F_00, 0x00_00_00,
];
/// The Okabe-Ito palette for dark backgrounds: without black, with lighter blues and reds.
const ON_BLACK: [u32; SERIES] = [
    0x56_B4_E9, 0xE6_9F_00, 0x2F_C7_9B, 0xE3_9A_C4, 0xF0_E4_42, 0xFF_7F_50, 0xFF_FF_FF,
];
const GREYS: [u32; SERIES] = [
    0x00_00_00, 0x77_77_77, 0x44_44_44, 0x99_99_99, 0x22_22_22, 0x66_66_66, 0xAA_AA_AA,
];
/// The viridis scale at equal steps: its lightness changes evenly, for any colour vision and in
/// print.
const HEAT: [u32; 9] = [
    0x44_01_54, 0x48_28_78, 0x3E_4A_89, 0x31_68_8E, 0x26_82_8E, 0x1F_9E_89, 0x35_B7_79, 0x6E_CE_58,
    0xFD_E7_25,
];
const GREY_HEAT: [u32; 2] = [0x22_22_22, 0xF2_F2_F2];

impl Theme {
    /// All themes.
    pub const ALL: [Self; 3] = [Self::Paper, Self::Dark, Self::Grey];

    /// Name of the theme.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Dark => "dark",
            Self::Grey => "grey",
        }
    }

    pub(crate) fn colour(self, ink: Ink) -> RGBColor {
        match ink {
            Ink::Black => rgb(self.pick([0x22_22_22, 0xE6_E6_E6, 0x00_00_00])),
            Ink::Grid => rgb(self.pick([0xDD_DD_DD, 0x3A_3A_3A, 0xDD_DD_DD])),
            Ink::Paper => rgb(self.pick([0xFF_FF_FF, 0x1A_1A_1A, 0xFF_FF_FF])),
            Ink::Series(number) => self.series(number),
            Ink::Other(0) => rgb(self.pick([0xAA_AA_AA, 0x8A_8A_8A, 0xAA_AA_AA])),
            Ink::Other(_) => rgb(self.pick([0xD5_D5_D5, 0x5A_5A_5A, 0xD5_D5_D5])),
            Ink::Pale(number) => mixed(self.series(number), self.colour(Ink::Paper), 0.62),
            Ink::Soft(number) => mixed(self.series(number), self.colour(Ink::Paper), 0.45),
            Ink::Shade(0) => rgb(self.pick([0xF6_E4_EF, 0x3B_2A_35, 0xEE_EE_EE])),
            Ink::Shade(_) => rgb(self.pick([0xE3_B4_CF, 0x66_44_58, 0xD0_D0_D0])),
            Ink::Heat(share) if self == Self::Grey => between(&GREY_HEAT, share),
            Ink::Heat(share) => between(&HEAT, share),
        }
    }

    /// The text colour with the best contrast to `ink`.
    pub(crate) fn text_on(self, ink: Ink) -> RGBColor {
        // The luminance with equal contrast to black and white, as WCAG 2.1 defines contrast.
        const MIDDLE: f64 = 0.179;
        rgb(if luminance(self.colour(ink)) > MIDDLE {
            0x11_11_11
        } else {
            0xFF_FF_FF
        })
    }

    fn series(self, number: usize) -> RGBColor {
        let palette = match self {
            Self::Paper => &ON_WHITE,
            Self::Dark => &ON_BLACK,
            Self::Grey => &GREYS,
        };
        let colour = rgb(palette[number % SERIES]);
        // Further rounds are closer to the text colour and away from the background, so no colour
        // repeats. The text colour itself moves towards the background instead.
        let round = number / SERIES % ROUNDS;
        let (away, towards) = match self {
            Self::Paper | Self::Grey => (rgb(0), rgb(0xFF_FF_FF)),
            Self::Dark => (rgb(0xFF_FF_FF), rgb(0)),
        };
        match round {
            0 => colour,
            _ if colour == away => mixed(colour, towards, [0.0, 0.35, 0.5][round]),
            _ => mixed(colour, away, [0.0, 0.35, 0.62][round]),
        }
    }

    const fn pick(self, [paper, dark, grey]: [u32; 3]) -> u32 {
        match self {
            Self::Paper => paper,
            Self::Dark => dark,
            Self::Grey => grey,
        }
    }
}

const fn rgb(hex: u32) -> RGBColor {
    let [_, red, green, blue] = hex.to_be_bytes();
    RGBColor(red, green, blue)
}

/// Relative luminance from 0 to 1, as WCAG 2.1 defines it.
fn luminance(RGBColor(red, green, blue): RGBColor) -> f64 {
    let linear = |byte: u8| {
        let part = f64::from(byte) / 255.0;
        // WCAG 2.1 first printed 0.03928; both are between the same two bytes, 10 and 11 of 255.
        if part <= 0.04045 {
            part / 12.92
        } else {
            ((part + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

/// Mixes `share` of `other` into `colour`.
fn mixed(colour: RGBColor, other: RGBColor, share: f64) -> RGBColor {
    let mix = |own: u8, other: u8| {
        let value = f64::from(own) * (1.0 - share) + f64::from(other) * share;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between two bytes"
        )]
        {
            value.round() as u8
        }
    };
    RGBColor(
        mix(colour.0, other.0),
        mix(colour.1, other.1),
        mix(colour.2, other.2),
    )
}

/// The colour at the position `share` on a scale.
fn between(scale: &[u32], share: f64) -> RGBColor {
    let last = scale.len() - 1;
    // NaN is at the low end.
    let share = if share.is_nan() { 0.0 } else { share };
    let place = share.clamp(0.0, 1.0) * last as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to the last place of a short list"
    )]
    let below = (place.floor() as usize).min(last.saturating_sub(1));
    let above = (below + 1).min(last);
    mixed(rgb(scale[below]), rgb(scale[above]), place - below as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contrast as WCAG 2.1 defines it.
    fn contrast(one: RGBColor, other: RGBColor) -> f64 {
        let (a, b) = (luminance(one), luminance(other));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_and_series_contrast_with_the_background() {
        for theme in Theme::ALL {
            let paper = theme.colour(Ink::Paper);
            assert!(contrast(theme.colour(Ink::Black), paper) > 7.0);
            for number in 0..SERIES * ROUNDS {
                let found = contrast(theme.colour(Ink::Series(number)), paper);
                assert!(found > 2.0, "{theme:?} {number}: {found}");
            }
        }
    }

    #[test]
    fn no_two_series_share_a_colour() {
        for theme in Theme::ALL {
            let colours = (0..SERIES * ROUNDS).map(|number| theme.colour(Ink::Series(number)));
            let different: std::collections::BTreeSet<_> = colours
                .map(|RGBColor(red, green, blue)| (red, green, blue))
                .collect();
            assert_eq!(different.len(), SERIES * ROUNDS, "{theme:?}");
        }
    }

    #[test]
    fn text_contrasts_with_each_heat_map_colour() {
        for theme in Theme::ALL {
            for step in 0..=100 {
                let ink = Ink::Heat(f64::from(step) / 100.0);
                let found = contrast(theme.text_on(ink), theme.colour(ink));
                assert!(found > 4.0, "{theme:?} {step}: {found}");
            }
        }
    }

    #[test]
    fn heat_map_colours_go_from_dark_to_light() {
        assert_eq!(Theme::Paper.colour(Ink::Heat(0.0)), rgb(0x44_01_54));
        assert_eq!(Theme::Paper.colour(Ink::Heat(1.0)), rgb(0xFD_E7_25));
        assert_eq!(Theme::Paper.colour(Ink::Heat(f64::NAN)), rgb(0x44_01_54));
    }
}
