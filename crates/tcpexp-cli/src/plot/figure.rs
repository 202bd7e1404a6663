//! Appearance and output file of a chart.

use anyhow::Context;
use clap::ValueEnum;
use clap::builder::{PathBufValueParser, TypedValueParser};
use tcpexp_chart::{AxisStyle, FigureSize, Style, Svg, Theme};

use crate::failure;
use crate::picture::{Blank, Picture};
use crate::shared_args::wrong_usage;

/// Usual widths of one column and of a two-column page in journals, in millimetres.
const COLUMN_MM: u32 = 85;
const PAGE_MM: u32 = 178;
/// Largest width and height in millimetres; larger than any paper.
const MAX_MM: u32 = 5_000;

#[derive(clap::Args)]
pub(crate) struct FigureArgs {
    /// File to write; its extension, .svg, .pdf or .png, sets the format
    #[arg(short, long, value_name = "FILE")]
    #[arg(value_parser = PathBufValueParser::new().try_map(Picture::at))]
    output: Picture,

    /// Width: column (85 mm), page (178 mm), or millimetres
    #[arg(long, value_name = "WIDTH", default_value = "column", value_parser = parse_width)]
    #[arg(help_heading = "Appearance")]
    width: u32,

    /// Height in millimetres [default: chosen by the chart]
    #[arg(long, value_name = "MM", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_MM)))]
    #[arg(help_heading = "Appearance")]
    height: Option<u32>,

    /// Colour theme
    #[arg(
        long,
        value_name = "THEME",
        default_value = "paper",
        help_heading = "Appearance"
    )]
    theme: ThemeArg,

    /// Title above the chart
    #[arg(long, value_name = "TEXT", help_heading = "Appearance")]
    title: Option<String>,

    /// Range of the horizontal axis, in its unit: 0:30, :30 or 10:
    #[arg(long, value_name = "LOW:HIGH", value_parser = parse_limits, help_heading = "Axes")]
    #[arg(allow_hyphen_values = true)]
    x_limits: Option<Limits>,

    /// Range of the vertical axis, in its unit
    #[arg(long, value_name = "LOW:HIGH", value_parser = parse_limits, help_heading = "Axes")]
    #[arg(allow_hyphen_values = true)]
    y_limits: Option<Limits>,

    /// Name of the horizontal axis
    #[arg(long, value_name = "TEXT", help_heading = "Axes")]
    x_name: Option<String>,

    /// Name of the vertical axis
    #[arg(long, value_name = "TEXT", help_heading = "Axes")]
    y_name: Option<String>,

    /// Make the horizontal axis logarithmic; values of zero and less lie beyond its left end
    #[arg(long, help_heading = "Axes")]
    x_log: bool,

    /// Make the vertical axis logarithmic; values of zero and less lie beyond its lower end
    #[arg(long, help_heading = "Axes")]
    y_log: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ThemeArg {
    /// Colours on white
    Paper,
    /// Colours on nearly black
    Dark,
    /// Greys on white
    Grey,
}

/// Maximum number of letters in a warning.
const MAX_LETTERS: usize = 20;

/// Lower and upper end of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limits {
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
}

fn refuse_scale(
    axis: &str,
    name: &str,
    is_log: bool,
    limits: Option<Limits>,
) -> anyhow::Result<()> {
    if !is_log && limits.is_none() {
        return Ok(());
    }
    Err(wrong_usage(&format!(
        "--{axis}-log and --{axis}-limits are for an axis of numbers: the {name} axis of this chart has categories"
    )))
    .context("wrong option")
}

/// A chart before drawing.
pub(crate) struct Figure {
    blank: Blank,
    pub(crate) style: Style,
    quiet: bool,
}

impl FigureArgs {
    /// Refuses the options of a horizontal axis with numbers, for a chart that has categories on it.
    pub(crate) fn has_categories_on_x(&self) -> anyhow::Result<()> {
        refuse_scale("x", "horizontal", self.x_log, self.x_limits)
    }

    /// Like [`has_categories_on_x`](Self::has_categories_on_x), for the vertical axis.
    pub(crate) fn has_categories_on_y(&self) -> anyhow::Result<()> {
        refuse_scale("y", "vertical", self.y_log, self.y_limits)
    }

    /// Refuses a logarithmic vertical axis, for a chart that has shares on it.
    pub(crate) fn has_shares_on_y(&self) -> anyhow::Result<()> {
        if !self.y_log {
            return Ok(());
        }
        Err(wrong_usage(
            "--y-log: the vertical axis of this chart has shares from 0, which has no logarithm",
        ))
        .context("wrong option")
    }

    /// Creates the file; fails immediately if that is not possible. `height_mm` is the default
    /// height. A `quiet` figure prints no warnings.
    pub(crate) fn create(&self, height_mm: u32, quiet: bool) -> anyhow::Result<Figure> {
        let axis = |limits: Option<Limits>, log, name: &Option<String>| AxisStyle {
            low: limits.and_then(|limits| limits.low),
            high: limits.and_then(|limits| limits.high),
            log,
            name: name.clone(),
        };
        let style = Style {
            size: FigureSize {
                width_mm: self.width,
                height_mm: self.height.unwrap_or(height_mm),
            },
            theme: match self.theme {
                ThemeArg::Paper => Theme::Paper,
                ThemeArg::Dark => Theme::Dark,
                ThemeArg::Grey => Theme::Grey,
            },
            title: self.title.clone(),
            note: None,
            labels: false,
            // A height that the user chooses is kept; the default height may give way to a long
            // legend.
            may_grow: self.height.is_none(),
            x: axis(self.x_limits, self.x_log, &self.x_name),
            y: axis(self.y_limits, self.y_log, &self.y_name),
        };
        Ok(Figure {
            blank: Blank::create(&self.output)?,
            style,
            quiet,
        })
    }
}

impl Figure {
    /// Adds a note below the chart.
    pub(crate) fn noting(mut self, note: Option<String>) -> Self {
        self.style.note = note;
        self
    }

    /// Draws the chart and writes it to its file.
    pub(crate) fn finish(
        self,
        draw: impl FnOnce(&Style) -> Result<Svg, tcpexp_chart::Error>,
    ) -> anyhow::Result<()> {
        let drawn = draw(&self.style);
        if let Ok(svg) = &drawn
            && !self.quiet
            && self.blank.has_one_font()
        {
            warn_of_letters(&svg.missing_letters()?);
        }
        self.blank.fill(drawn)?.finish()
    }
}

/// Warns about letters that the chart does not show.
fn warn_of_letters(missing: &[char]) {
    let letters: Vec<String> = missing
        .iter()
        .take(MAX_LETTERS)
        .map(char::to_string)
        .collect();
    let more = match missing.len().saturating_sub(MAX_LETTERS) {
        0 => String::new(),
        more => format!(" and {more} more letters"),
    };
    if !letters.is_empty() {
        failure::print_line(&format!(
            "warning: the font lacks {}{more}, and the chart has an empty box for each: an .svg file shows them",
            letters.join(" ")
        ));
    }
}

fn parse_width(text: &str) -> Result<u32, String> {
    let wrong = || format!("\"{text}\" is not a width: write column, page or 120mm");
    match text {
        "column" => Ok(COLUMN_MM),
        "page" => Ok(PAGE_MM),
        _ => {
            let digits = text.strip_suffix("mm").unwrap_or(text).trim();
            let width: u32 = digits.parse().map_err(|_| wrong())?;
            if (1..=MAX_MM).contains(&width) {
                Ok(width)
            } else {
                Err(format!("a width is from 1 to {MAX_MM} mm"))
            }
        }
    }
}

pub(crate) fn parse_limits(text: &str) -> Result<Limits, String> {
    let wrong = || format!("\"{text}\" is not a range: write 0:30, :30 or 10:");
    let (low, high) = text.split_once(':').ok_or_else(wrong)?;
    let limit = |text: &str| match text.trim() {
        "" => Ok(None),
        text => match text.parse::<f64>() {
            // `parse` accepts `inf` and `NaN`, which end no axis.
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => Err(wrong()),
        },
    };
    let limits = Limits {
        low: limit(low)?,
        high: limit(high)?,
    };
    match (limits.low, limits.high) {
        (Some(low), Some(high)) if low >= high => Err(wrong()),
        (None, None) => Err(wrong()),
        _ => Ok(limits),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(clap::Parser)]
    struct Given {
        #[command(flatten)]
        figure: FigureArgs,
    }

    #[test]
    fn shares_have_no_logarithmic_axis() {
        let given = |more: &[&str]| {
            let words = ["plot", "-o", "a.svg"].iter().chain(more);
            Given::try_parse_from(words).unwrap().figure
        };
        assert!(given(&["--x-log"]).has_shares_on_y().is_ok());
        let refused = given(&["--y-log"]).has_shares_on_y().unwrap_err();
        assert!(format!("{refused:#}").contains("--y-log"), "{refused:#}");
    }

    #[test]
    fn a_width_is_a_column_name_or_millimetres() {
        let widths = ["column", "page", "120", "90mm", "90 mm", "5000"].map(parse_width);
        assert_eq!(
            widths,
            [Ok(85), Ok(178), Ok(120), Ok(90), Ok(90), Ok(5_000)]
        );
        let error = parse_width("5001").unwrap_err();
        assert_eq!(error, "a width is from 1 to 5000 mm");
        for wrong in ["", "wide", "0", "-5", "8.5cm", "99999"] {
            assert!(parse_width(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn limits_may_be_open() {
        let limits = |low, high| Ok(Limits { low, high });
        assert_eq!(parse_limits("0:30"), limits(Some(0.0), Some(30.0)));
        assert_eq!(parse_limits("-2.5:"), limits(Some(-2.5), None));
        assert_eq!(parse_limits(":1e3"), limits(None, Some(1000.0)));
        for wrong in ["", ":", "5", "30:0", "a:b", "nan:1", "0:inf"] {
            assert!(parse_limits(wrong).is_err(), "{wrong}");
        }
    }
}
