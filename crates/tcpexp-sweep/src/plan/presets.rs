//! Parts of plans that come with tcpexp: `include = ["preset:NAME"]`.

/// Each preset with its name. The comments of a file have the sources of its numbers.
const PRESETS: [(&str, &str); 8] = [
    ("adsl-2011", include_str!("presets/adsl-2011.toml")),
    ("downloads", include_str!("presets/downloads.toml")),
    ("geo-satellite", include_str!("presets/geo-satellite.toml")),
    ("incast", include_str!("presets/incast.toml")),
    ("rrul-be", include_str!("presets/rrul-be.toml")),
    ("video", include_str!("presets/video.toml")),
    ("voip-g711", include_str!("presets/voip-g711.toml")),
    ("web-page", include_str!("presets/web-page.toml")),
];

/// The text of a preset.
pub(super) fn text(name: &str) -> Option<&'static str> {
    let preset = PRESETS.iter().find(|(known, _)| *known == name);
    preset.map(|(_, text)| *text)
}

/// The names of all presets.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}

/// All presets: name, and the comment at the beginning of its file.
pub(super) fn all() -> impl Iterator<Item = (&'static str, String)> {
    PRESETS.iter().map(|(name, text)| {
        let comment = text.lines().map_while(|line| line.strip_prefix("# "));
        (*name, comment.collect::<Vec<_>>().join(" "))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::plan::Plan;

    #[test]
    fn each_preset_completes_a_plan() {
        for (name, text) in PRESETS {
            let mut plan = format!("kind = \"lab\"\ninclude = [\"preset:{name}\"]\n");
            if !text.contains("[path") {
                plan += "[path.forward]\nrate = \"10mbit\"\ndelay = \"10ms\"\nbuffer = \"1bdp\"\n";
            }
            if !text.contains("[[traffic]]") {
                plan += "[[traffic]]\nname = \"bulk\"\ntool = \"iperf3\"\nduration = \"10s\"\n";
            }
            let read = Plan::parse(Path::new("plan.toml"), &plan);
            assert!(read.is_ok(), "{name}: {}", read.unwrap_err());
        }
    }

    #[test]
    fn each_preset_names_its_source() {
        for (name, comment) in all() {
            assert!(comment.contains("Source: "), "{name}");
        }
    }
}
