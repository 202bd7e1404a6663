//! A page on paper.

use std::fs;

use serde_json::json;

use crate::{WIDTHS, browser, page, read};

#[test]
fn a_printed_page_has_whole_charts_and_tables() {
    // The rules for paper apply to a page of 600 pixels, which is narrower than A4 paper.
    const REPORTER: &str = "
        window.addEventListener('load', () => setTimeout(() => {
          const widthsOf = () => charts.map(({ chart }) => chart.width);
          const onScreen = widthsOf();
          window.dispatchEvent(new Event('beforeprint'));
          const printed = widthsOf();
          const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).filter((rule) => rule.media?.mediaText === 'print');
          const paper = element('style', {}, rules.flatMap((rule) => [...rule.cssRules]).map((rule) => rule.cssText).join(' '));
          document.head.append(paper);
          document.body.style.width = '600px';
          const right = document.body.getBoundingClientRect().right;
          const cut = [...document.querySelectorAll('canvas, table')].filter((one) => one.getBoundingClientRect().right > right + 1).length;
          const hidden = [...document.querySelectorAll('.chart, .scroll')].filter((one) => getComputedStyle(one).overflow !== 'visible').length;
          const headings = [...document.querySelectorAll('table.rows th')].map((title) => getComputedStyle(title, '::before').content);
          paper.remove();
          document.body.style.width = '';
          window.dispatchEvent(new Event('afterprint'));
          const isRestored = JSON.stringify(widthsOf()) === JSON.stringify(onScreen);
          const found = { printed, cut, hidden, heading: headings[0], isRestored };
          document.body.append(element('pre', { id: 'found' }, JSON.stringify(found)));
        }, 200));";
    let Some(browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    let html = page().html().unwrap();
    let html = html.replace("</body>", &format!("<script>{REPORTER}</script></body>"));
    let path = dir.path().join("print.html");
    fs::write(&path, html).unwrap();
    for width in WIDTHS {
        let found = read(browser, dir.path(), &path, width);
        assert_eq!(
            found,
            json!({"printed": [700, 700, 700, 700], "cut": 0, "hidden": 0, "heading": "\"run\"", "isRestored": true}),
            "{width} pixels"
        );
    }
}
