//! A page for a run or a sweep that a browser shows from disk, without a network.
//!
//! The page contains its data, its style, and the uPlot library, which draws the charts. The
//! scripts beside this file implement the interaction: filtering runs by parameter, colouring by a
//! parameter, zooming, reading values, sorting tables.

mod quantiles;

use std::collections::BTreeMap;
use std::mem;

use serde::Serialize;
use serde_json::Value;
use tcpexp_units::Timestamp;

pub use quantiles::page_quantiles;

use crate::{Quantity, Thinned};

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

/// The contents of a page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Page {
    /// Heading and browser title.
    pub title: String,
    /// A line below the heading.
    pub summary: String,
    /// The rule that chooses the flows of each run, in words.
    pub flow_rule: String,
    /// The parameters of the runs, in the order of the filters.
    pub parameters: Vec<PageParameter>,
    /// The runs, one experiment each.
    pub runs: Vec<PageRun>,
    /// Charts over time, one per key of [`PageFlow::series`].
    pub panels: Vec<PageAxis>,
    /// Charts of distributions, two per key of [`PageFlow::quantiles`].
    pub distributions: Vec<PageAxis>,
    /// Tables below the charts.
    pub tables: Vec<PageTable>,
}

/// A parameter and its values in the runs.
#[derive(Clone, Debug, Serialize)]
pub struct PageParameter {
    /// Name of the parameter, as in [`PageRun::parameters`].
    pub name: String,
    /// Heading of the parameter: quantity and unit.
    pub heading: String,
    /// Name of the quantity.
    pub quantity: String,
    /// Unit of the values; empty if they have none.
    pub unit: String,
    /// Values in order.
    pub values: Vec<Value>,
    /// False if all runs have one value, or if it follows from the values of other parameters. Filters
    /// and the names of lines leave out such a parameter.
    pub is_distinguishing: bool,
}

/// A chart's quantity.
#[derive(Clone, Debug, Serialize)]
pub struct PageAxis {
    /// Key of the quantity in a flow.
    pub key: String,
    /// Heading of the chart.
    pub title: String,
    /// Quantity and unit on the axis.
    pub axis: String,
    /// True for rates in bins, which are zero in silence; lines of other quantities end there.
    pub is_rate: bool,
}

/// A run.
#[derive(Clone, Debug, Serialize)]
pub struct PageRun {
    /// Name of the run.
    pub name: String,
    /// The cell; runs of one cell have the same parameters.
    pub cell: Option<String>,
    /// Repetition number within the cell.
    pub repetition: Option<u32>,
    /// Status of the run, which shows whether it is usable.
    pub status: String,
    /// Why the run is unusable.
    pub reason: Option<String>,
    /// Parameter values of the run.
    pub parameters: BTreeMap<String, Value>,
    /// Flows of the run, the busiest first.
    pub flows: Vec<PageFlow>,
    /// Number of flows in the dataset of the run, including those that are not on the page.
    pub all_flows: usize,
    /// Number of flows that the rule of the page chooses, including those for which the page has no
    /// room.
    pub chosen_flows: usize,
}

/// One direction of a flow.
#[derive(Clone, Debug, Serialize)]
pub struct PageFlow {
    /// Name of the flow.
    pub label: String,
    /// Measurements over time, by key.
    pub series: BTreeMap<String, PageSeries>,
    /// Quantiles by key, at equal steps from the smallest to the largest sample.
    pub quantiles: BTreeMap<String, Vec<f64>>,
}

/// Points over time; both vectors have the same length.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PageSeries {
    /// Seconds since the start of the run, in ascending order.
    pub time_s: Vec<f64>,
    /// Values at these times; null where the line ends because the value is unknown.
    pub values: Vec<Option<f64>>,
}

/// A table.
#[derive(Clone, Debug, Serialize)]
pub struct PageTable {
    /// Heading of the table.
    pub title: String,
    /// Columns of the table.
    pub columns: Vec<PageColumn>,
    /// Rows of the table.
    pub rows: Vec<PageRow>,
}

/// A column of a table.
#[derive(Clone, Debug, Serialize)]
pub struct PageColumn {
    /// Heading of the column: quantity and unit.
    pub heading: String,
    /// Definition of the column's values.
    pub definition: String,
    /// True if the column is shown before the reader asks for all columns.
    pub is_main: bool,
}

/// A row of a table.
#[derive(Clone, Debug, Serialize)]
pub struct PageRow {
    /// Indexes of the runs that the row describes: a filter that excludes all of them hides the row.
    pub runs: Vec<usize>,
    /// A value per column; null means unknown.
    pub values: Vec<Value>,
}

impl PageParameter {
    /// A parameter whose name ends in its unit: `delay_ms`. It distinguishes runs if it has several values.
    pub fn new(name: &str, values: Vec<Value>) -> Self {
        let quantity = Quantity::of_column(name);
        let unit = quantity.own_unit();
        let heading = if unit.is_empty() {
            quantity.name.clone()
        } else {
            format!("{} ({unit})", quantity.name)
        };
        Self {
            name: name.to_owned(),
            heading,
            quantity: quantity.name,
            unit,
            is_distinguishing: values.len() > 1,
            values,
        }
    }
}

impl PageTable {
    /// Builds a table from columns and rows of a table file; quantities get the units of charts.
    pub fn new(title: &str, columns: Vec<TableColumn>, mut rows: Vec<PageRow>) -> Self {
        let shown = |(place, column): (usize, TableColumn)| {
            let numbers = rows
                .iter()
                .filter_map(|row| row.values.get(place)?.as_f64());
            let (least, most) = numbers.fold((f64::MAX, f64::MIN), |(least, most), number| {
                (least.min(number), most.max(number))
            });
            let quantity = Quantity::of_column(&column.name);
            let mut heading = quantity.name.clone();
            if least <= most {
                let shown = quantity.shown(least, most);
                heading = quantity.on_axis(&shown);
                // A count without another unit stays an integer in JSON.
                if (shown.value(1.0) - 1.0).abs() > f64::EPSILON {
                    let values = rows.iter_mut().filter_map(|row| row.values.get_mut(place));
                    for value in values {
                        if let Some(number) = value.as_f64() {
                            *value = Value::from(shown.value(number));
                        }
                    }
                }
            }
            PageColumn {
                heading,
                definition: column.definition,
                is_main: column.is_main,
            }
        };
        Self {
            title: title.to_owned(),
            columns: columns.into_iter().enumerate().map(shown).collect(),
            rows,
        }
    }
}

/// A column of a table file.
#[derive(Clone, Debug)]
pub struct TableColumn {
    /// Name of the column, with the unit last: `rtt_median_ns`.
    pub name: String,
    /// Definition of the column's values.
    pub definition: String,
    /// True if the column is shown before the reader asks for all columns.
    pub is_main: bool,
}

impl PageSeries {
    /// Converts `samples` to seconds since `start` and to the unit of `value`, thinned to
    /// `most_bins` bins of up to four samples.
    pub fn of<V: Copy + Ord>(
        samples: &Thinned<V>,
        start: Timestamp,
        most_bins: usize,
        value: impl Fn(V) -> f64,
    ) -> Self {
        let points = samples.points(most_bins).into_iter();
        let (time_s, values) = points
            .map(|(time, sample)| ((time - start).as_seconds_f64(), Some(value(sample))))
            .unzip();
        Self { time_s, values }
    }

    /// Ends the line at these times in seconds, in rising order, at which its value is unknown.
    pub fn end_at(&mut self, times_s: impl IntoIterator<Item = f64>) {
        let mut ends = times_s.into_iter().peekable();
        let (times, values) = (mem::take(&mut self.time_s), mem::take(&mut self.values));
        for (time, value) in times.into_iter().zip(values) {
            // Thinning may leave several ends between two points, and one is enough.
            let mut end = None;
            while let Some(passed) = ends.next_if(|end| *end < time) {
                end = Some(passed);
            }
            if let Some(end) = end.filter(|_| !self.time_s.is_empty()) {
                self.time_s.push(end);
                self.values.push(None);
            }
            self.time_s.push(time);
            self.values.push(value);
        }
    }
}

impl Page {
    /// Renders the page as one HTML file. The same page gives the same bytes.
    ///
    /// # Errors
    ///
    /// Fails only if a value has no JSON representation.
    pub fn html(&self) -> serde_json::Result<String> {
        // In a JSON string, the escape means the same character, and it cannot start an HTML tag.
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

/// Replaces each `{{name}}` in `frame`; inserted text is not searched for names.
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
    fn no_run_name_ends_the_embedded_script() {
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
    fn the_page_loads_nothing_from_elsewhere() {
        let html = Page::default().html().unwrap();
        for loader in ["src=\"", "@import", "url(", "fetch(", "import("] {
            assert!(!html.contains(loader), "{loader}");
        }
        assert!(!html.contains("{{"));
    }
}
