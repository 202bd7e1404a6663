//! One page for a run or a sweep that a browser shows from disk, without a network.
//!
//! The page carries all it needs: its data, its style, and the uPlot library, which draws the
//! charts. What the reader can do is in the scripts beside this file: filter runs by parameter,
//! colour by one, zoom, read values, sort tables.

mod quantiles;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use tcpexp_units::Timestamp;

pub use quantiles::page_quantiles;

use crate::Thinned;

const FRAME: &str = include_str!("page.html");
const STYLE: [&str; 2] = [
    include_str!("uplot/uPlot.min.css"),
    include_str!("page.css"),
];
const LIBRARY: &str = include_str!("uplot/uPlot.iife.min.js");
const SCRIPTS: [&str; 4] = [
    include_str!("filters.js"),
    include_str!("charts.js"),
    include_str!("tables.js"),
    include_str!("page.js"),
];

/// What a page shows.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Page {
    /// Heading and name in the browser.
    pub title: String,
    /// A line below it.
    pub summary: String,
    /// What the runs may differ by, in the order in which they are offered as filters.
    pub parameters: Vec<PageParameter>,
    /// One experiment each.
    pub runs: Vec<PageRun>,
    /// Charts over time, one per key of [`PageFlow::series`].
    pub panels: Vec<PageAxis>,
    /// Charts of distributions, two per key of [`PageFlow::quantiles`].
    pub distributions: Vec<PageAxis>,
    /// Tables below the charts.
    pub tables: Vec<PageTable>,
}

/// A parameter and the values that runs have for it.
#[derive(Clone, Debug, Serialize)]
pub struct PageParameter {
    /// Its name, with the unit.
    pub name: String,
    /// Its values in order.
    pub values: Vec<Value>,
}

/// What a chart draws.
#[derive(Clone, Debug, Serialize)]
pub struct PageAxis {
    /// Under which key a flow has it.
    pub key: String,
    /// Heading of the chart.
    pub title: String,
    /// Quantity and unit at the axis.
    pub axis: String,
}

/// A run.
#[derive(Clone, Debug, Serialize)]
pub struct PageRun {
    /// How the run is called.
    pub name: String,
    /// Runs of one cell have the same parameters.
    pub cell: Option<String>,
    /// Which run of its cell this is.
    pub repetition: Option<u32>,
    /// Whether it can be used.
    pub status: String,
    /// Why not.
    pub reason: Option<String>,
    /// What was set for it.
    pub parameters: BTreeMap<String, Value>,
    /// Its flows, the busiest first.
    pub flows: Vec<PageFlow>,
}

/// One direction of a flow.
#[derive(Clone, Debug, Serialize)]
pub struct PageFlow {
    /// How it is called.
    pub label: String,
    /// What it measured over time.
    pub series: BTreeMap<String, PageSeries>,
    /// What it measured at equal steps from the smallest to the largest sample.
    pub quantiles: BTreeMap<String, Vec<f64>>,
}

/// Points over time; both have one length.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PageSeries {
    /// Seconds since the run began, never falling.
    pub time_s: Vec<f64>,
    /// The values there.
    pub values: Vec<f64>,
}

/// A table.
#[derive(Clone, Debug, Serialize)]
pub struct PageTable {
    /// Its heading.
    pub title: String,
    /// Its columns.
    pub columns: Vec<PageColumn>,
    /// A value for each column; null is not known.
    pub rows: Vec<Vec<Value>>,
}

/// A column of a table.
#[derive(Clone, Debug, Serialize)]
pub struct PageColumn {
    /// Its name, with the unit.
    pub name: String,
    /// What its values mean.
    pub definition: String,
}

impl PageSeries {
    /// What `samples` kept, from at most `most_bins` bins of four, in seconds since `start` and in
    /// the unit that `value` gives.
    pub fn of<V: Copy + Ord>(
        samples: &Thinned<V>,
        start: Timestamp,
        most_bins: usize,
        value: impl Fn(V) -> f64,
    ) -> Self {
        let points = samples.points(most_bins).into_iter();
        let (time_s, values) = points
            .map(|(time, sample)| ((time - start).as_seconds_f64(), value(sample)))
            .unzip();
        Self { time_s, values }
    }
}

impl Page {
    /// The page as one HTML file. The same page gives the same bytes.
    ///
    /// # Errors
    /// Only if a value cannot be told in JSON.
    pub fn html(&self) -> serde_json::Result<String> {
        // In a string of JSON this is the same character, and no tag can begin with it.
        let data = serde_json::to_string(self)?.replace('<', "\\u003c");
        let title = escaped(&self.title);
        let (style, script) = (STYLE.concat(), SCRIPTS.concat());
        let parts: [(&str, &str); 5] = [
            ("title", &title),
            ("style", &style),
            ("data", &data),
            ("library", LIBRARY),
            ("script", &script),
        ];
        Ok(filled(FRAME, &parts))
    }
}

/// `frame` with each `{{name}}` replaced; what is put in is not looked at again.
fn filled(frame: &str, parts: &[(&str, &str)]) -> String {
    let mut page = String::new();
    for (at, piece) in frame.split("{{").enumerate() {
        match piece.split_once("}}") {
            Some((name, rest)) if at > 0 => {
                let part = parts.iter().find(|(part, _)| *part == name);
                page.push_str(part.map_or("", |(_, text)| text));
                page.push_str(rest);
            }
            _ => page.push_str(piece),
        }
    }
    page
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_a_run_ends_the_script_that_carries_it() {
        let page = Page {
            title: "a < b & c".into(),
            summary: "</script><script>alert(1)</script>".into(),
            ..Page::default()
        };
        let html = page.html().unwrap();
        assert!(html.contains("<h1>a &lt; b &amp; c</h1>"));
        assert_eq!(html.matches("</script>").count(), 3);
    }

    #[test]
    fn the_page_names_no_other_place_to_load_from() {
        let html = Page::default().html().unwrap();
        for loader in ["src=\"", "@import", "url(", "fetch(", "import("] {
            assert!(!html.contains(loader), "{loader}");
        }
        assert!(!html.contains("{{"));
    }
}
