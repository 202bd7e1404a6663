//! The generated part of a README.

use anyhow::Context;

/// Returns `readme` with `block` between `<!-- GRID -->` and `<!-- /GRID -->`.
pub fn filled(readme: &str, grid: &str, block: &str) -> anyhow::Result<String> {
    let [begin, end] = [format!("<!-- {grid} -->\n"), format!("<!-- /{grid} -->")];
    let missing = || format!("the README has no {} … {end}", begin.trim());
    let (before, rest) = readme.split_once(&begin).with_context(missing)?;
    let (_, after) = rest.split_once(&end).with_context(missing)?;
    Ok(format!("{before}{begin}\n{block}\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_between_the_marks_is_replaced() {
        let readme = "# A\n<!-- short -->\nold\n<!-- /short -->\nb\n";
        let once = filled(readme, "short", "new\n").unwrap();
        assert_eq!(once, "# A\n<!-- short -->\n\nnew\n\n<!-- /short -->\nb\n");
        assert_eq!(filled(&once, "short", "new\n").unwrap(), once);
        assert!(filled(readme, "full", "new\n").is_err());
    }
}
