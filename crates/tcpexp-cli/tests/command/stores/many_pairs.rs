//! Many pairs of captures in an object store.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use tcpexp_testkit::{Asked, Reply};

use super::{Lab, pairs_in_a_bucket};
use crate::desk::text;

/// The files of a dataset in a bucket, with those of a folder.
fn assert_same_dataset(lab: &Lab, url: &str, folder: &str) {
    let paths = lab.server.paths().into_iter();
    let names: BTreeSet<String> = paths
        .filter_map(|path| Some(path.strip_prefix(url)?.to_owned()))
        .collect();
    let files = std::fs::read_dir(lab.desk.path(folder)).unwrap();
    let files: BTreeSet<String> = files
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names, files);
    for name in names.iter().filter(|name| name.ends_with(".parquet")) {
        // The table of errors has the places of the captures.
        if name != "errors.parquet" {
            let object = lab.server.get(&format!("{url}{name}")).unwrap();
            assert!(
                object == lab.desk.get(&format!("{folder}/{name}")),
                "{name}"
            );
        }
    }
}

#[test]
fn pairs_in_a_store_are_found_analysed_and_joined_as_files_are() {
    let lab = pairs_in_a_bucket(|_| Reply::Right);
    lab.text("pairs client server -o pairs.csv");
    lab.desk.text("analyze --pairs pairs.csv -o parts --quiet");
    lab.desk
        .text("merge --pairs pairs.csv parts -o all --quiet");

    lab.text("pairs s3://lab/client s3://lab/server/ -o s3://lab/pairs.csv");
    let table = |bytes: Vec<u8>| text(&bytes).replace("s3://lab/", "");
    let listed = lab.server.get("/lab/pairs.csv").unwrap();
    assert_eq!(table(listed), table(lab.desk.get("pairs.csv")));
    let tasks = "analyze --pairs s3://lab/pairs.csv -o s3://lab/parts";
    lab.text(&format!("{tasks} --quiet --task 2/2"));
    lab.text(&format!("{tasks} --quiet --task 1/2"));
    let before = lab.server.paths();
    let again = lab.text(tasks);
    assert_snapshot!(again, @r"
    datasets        s3://lab/parts
    pairs           0 analysed, 3 already there, 0 failed, 1 failed earlier
    ");
    assert_eq!(lab.server.paths(), before);
    lab.text("merge --pairs s3://lab/pairs.csv s3://lab/parts -o s3://lab/all --quiet");
    assert_same_dataset(&lab, "/lab/all/", "all");
}

#[test]
fn a_part_that_another_run_completes_first_stays() {
    let lab = pairs_in_a_bucket(|_| Reply::Right);
    lab.text("pairs s3://lab/client s3://lab/server -o pairs.csv");
    let line = "analyze --pairs pairs.csv --task 1 -o s3://lab/parts --quiet";
    lab.text(line);
    let is_manifest = |path: &String| path.ends_with("/manifest.json");
    let manifest = lab.server.paths().into_iter().find(is_manifest).unwrap();
    // Two runs at once: the second one found no part when it began.
    let (place, bytes) = (manifest.clone(), lab.server.get(&manifest).unwrap());
    let mut looks = 0;
    let race = pairs_in_a_bucket(move |asked| {
        let is_look = asked.method == "HEAD" && asked.path == place;
        looks += usize::from(is_look);
        // A look before the analysis, and one before the copy.
        if is_look && looks == 1 {
            return Reply::Status(404, "NoSuchKey");
        }
        Reply::Right
    });
    race.server.put(&manifest, &bytes);
    race.text("pairs s3://lab/client s3://lab/server -o pairs.csv");
    race.text(line);
    let puts = race.server.asked();
    let put =
        |asked: &&Asked| asked.method != "GET" && asked.method != "HEAD" && asked.path == manifest;
    assert_eq!(puts.iter().filter(put).count(), 0);
    assert!(race.server.get(&manifest).unwrap() == bytes);
}

#[test]
fn results_in_a_store_are_compared_drawn_and_reported_as_files_are() {
    let lab = Lab::new(|_| Reply::Right);
    std::fs::create_dir(lab.desk.path("cells")).unwrap();
    for cell in ["one", "two"] {
        lab.text(&format!(
            "analyze src.pcap dst.pcap -o cells/{cell} --param cc={cell} --quiet"
        ));
        for file in std::fs::read_dir(lab.desk.path(&format!("cells/{cell}"))).unwrap() {
            let name = file.unwrap().file_name().to_string_lossy().into_owned();
            let path = format!("cells/{cell}/{name}");
            lab.server
                .put(&format!("/lab/{path}"), &lab.desk.get(&path));
        }
    }
    for line in ["compare DIR", "check DIR --expect goodput_bps>0"] {
        let of = |dir: &str| lab.text(&line.replace("DIR", dir));
        assert_eq!(of("s3://lab/cells"), of("cells"), "{line}");
    }
    for (line, file) in [
        ("plot ecdf DIR --x rtt -o FILE", "ecdf.svg"),
        ("report DIR -o FILE", "page.html"),
    ] {
        let of = |dir: &str, file: &str| lab.text(&line.replace("DIR", dir).replace("FILE", file));
        of("cells", file);
        of("s3://lab/cells", &format!("s3://lab/{file}"));
        let object = lab.server.get(&format!("/lab/{file}")).unwrap();
        assert!(object == lab.desk.get(file), "{file}");
    }
    let missing = lab.failure("compare s3://lab/missing");
    assert_snapshot!(missing, @"cannot read s3://lab/missing: there is no such object");
}
