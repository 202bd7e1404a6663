//! Captures in object stores.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use tcpexp_testkit::{Asked, ObjectServer, Reply};

use crate::desk::{Desk, ORDINARY, gzip, reason, text};
use crate::pairs::many;

/// A desk, and a server with its captures in a bucket.
struct Lab {
    desk: Desk,
    server: ObjectServer,
}

impl Lab {
    fn new(decide: impl FnMut(&Asked) -> Reply + Send + 'static) -> Self {
        let server = ObjectServer::deciding(decide);
        server.put("/captures/src.pcap", &ORDINARY.src);
        server.put("/captures/dst.pcap", &ORDINARY.dst);
        server.put("/captures/dst.pcap.gz", &gzip(&ORDINARY.dst));
        Self {
            desk: Desk::new(),
            server,
        }
    }

    /// The command with credentials in the environment, and with no other configuration.
    fn command(&self, line: &str) -> assert_cmd::Command {
        let mut command = self.desk.command(line);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.desk.path("home"))
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_ENDPOINT_URL", self.server.endpoint())
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_ACCESS_KEY_ID", "ID")
            .env("AWS_SECRET_ACCESS_KEY", "SECRET");
        command
    }

    fn text(&self, line: &str) -> String {
        let output = self.command(line).output().unwrap();
        let stderr = text(&output.stderr);
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""));
        text(&output.stdout)
    }

    /// The message of a run that fails and writes no file.
    fn failure(&self, line: &str) -> String {
        let before = self.desk.written();
        let output = self.command(line).output().unwrap();
        assert_eq!(text(&output.stdout), "");
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        assert_eq!(self.desk.written(), before);
        reason(&output).replace(&self.server.endpoint(), "http://server")
    }
}

#[test]
fn results_of_objects_equal_those_of_files() {
    let lab = Lab::new(|_| Reply::Right);
    for command in [
        "rtt SRC DST --format csv",
        "path SRC DST --format csv",
        "flows SRC --format csv --quiet",
        "cwnd SRC DST --format csv --quiet",
        "throughput SRC --format csv",
        "rtt SRC --format csv --quiet",
        "flows SRC --format csv --quiet --from 100ms --to -100ms",
    ] {
        let of = |src: &str, dst: &str| lab.text(&command.replace("SRC", src).replace("DST", dst));
        // `flows` has the names of the captures in its rows.
        let of = |src: &str, dst: &str| of(src, dst).replace(src, "SRC");
        let expected = of("src.pcap", "dst.pcap");
        assert!(expected.lines().count() > 3, "{command}");
        let s3 = of("s3://captures/src.pcap", "s3://captures/dst.pcap.gz");
        assert_eq!(s3, expected, "{command}");
        let http = |name: &str| format!("{}/captures/{name}", lab.server.endpoint());
        assert_eq!(
            of(&http("src.pcap"), &http("dst.pcap")),
            expected,
            "{command}"
        );
    }
}

#[test]
fn a_dataset_of_objects_equals_that_of_files() {
    let lab = Lab::new(|_| Reply::Right);
    lab.text("analyze src.pcap dst.pcap -o of-files --quiet");
    lab.text("survey s3://captures/src.pcap s3://captures/dst.pcap -o survey.json");
    lab.text("analyze s3://captures/src.pcap s3://captures/dst.pcap -o of-objects --quiet");
    lab.text("analyze src.pcap dst.pcap -o surveyed --survey survey.json --quiet");
    for table in [
        "flows",
        "rtt",
        "owd",
        "loss",
        "throughput",
        "sender",
        "events",
        "queue",
    ] {
        let read = |of: &str| lab.desk.get(&format!("{of}/{table}.parquet"));
        assert!(read("of-objects") == read("of-files"), "{table}");
        assert!(read("surveyed") == read("of-files"), "{table}");
    }
    let sums = |of: &str| {
        let manifest: serde_json::Value =
            serde_json::from_slice(&lab.desk.get(&format!("{of}/manifest.json"))).unwrap();
        let captures = manifest["captures"].as_array().unwrap().clone();
        captures
            .into_iter()
            .map(|capture| capture["sha256"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(sums("of-objects"), sums("of-files"));
    assert!(sums("of-objects")[0].is_string());
}

#[test]
fn faults_that_pass_do_not_change_results() {
    let expected = Desk::new().text("rtt src.pcap dst.pcap --format csv");
    let faults: [fn(&Asked) -> Reply; 2] = [
        |asked| match asked.number % 3 {
            0 => Reply::Right,
            _ => Reply::Status(503, "SlowDown"),
        },
        |asked| match asked.number % 2 {
            0 => Reply::Right,
            _ => Reply::Cut(1_000),
        },
    ];
    for fault in faults {
        let lab = Lab::new(fault);
        let found = lab.text("rtt s3://captures/src.pcap s3://captures/dst.pcap --format csv");
        assert!(found == expected);
    }
}

#[test]
fn an_object_that_cannot_be_read_to_its_end_gives_no_result() {
    let line = "rtt s3://captures/src.pcap s3://captures/dst.pcap -o rtt.csv";
    let of = |decide: fn(&Asked) -> Reply| Lab::new(decide).failure(line);
    let expired = of(|asked| match asked.range {
        Some((0, _)) => Reply::Right,
        _ => Reply::Status(403, "ExpiredToken"),
    });
    assert!(
        expired.starts_with("cannot read s3://captures/"),
        "{expired}"
    );
    assert!(
        expired.contains("access denied: ") && expired.ends_with("test of ExpiredToken"),
        "{expired}"
    );
    let changed = of(|asked| match asked.range {
        Some((0, _)) => Reply::Right,
        _ => Reply::Replaced(ORDINARY.dst.clone()),
    });
    assert!(
        changed.ends_with("the object was replaced while it was read: start again"),
        "{changed}"
    );
    let missing =
        Lab::new(|_| Reply::Right).failure("rtt s3://captures/src.pcap s3://captures/x -o rtt.csv");
    assert_snapshot!(missing, @"cannot read s3://captures/x: there is no such object");
}

#[test]
fn a_profile_gives_credentials_and_the_place_of_the_store() {
    let lab = Lab::new(|_| Reply::Right);
    std::fs::create_dir_all(lab.desk.path("home/.aws")).unwrap();
    let config = format!(
        "[profile lab]\nendpoint_url = {}\nregion = eu-north-1\ncredential_process = cat keys.json\n",
        lab.server.endpoint()
    );
    lab.desk.put("home/.aws/config", config.as_bytes());
    lab.desk.put(
        "keys.json",
        br#"{"Version": 1, "AccessKeyId": "OFPROGRAM", "SecretAccessKey": "SECRET"}"#,
    );
    let mut command = lab.command("info s3://captures/src.pcap --storage-option allow_http=true");
    for name in [
        "AWS_ENDPOINT_URL",
        "AWS_ALLOW_HTTP",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
    ] {
        command.env_remove(name);
    }
    let unnamed = command.output().unwrap();
    assert_snapshot!(reason(&unnamed), @"cannot read s3://captures/src.pcap: no credentials for S3: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; for a public object, use --storage-option skip_signature=true");
    let named = command.env("AWS_PROFILE", "lab").output().unwrap();
    assert_eq!(text(&named.stderr), "");
    let asked = lab.server.asked();
    let signed = asked[0].authorization.as_deref().unwrap();
    assert!(signed.contains("Credential=OFPROGRAM/"), "{signed}");
    assert!(signed.contains("/eu-north-1/s3/"), "{signed}");
}

#[test]
fn a_wrong_option_is_refused() {
    let lab = Lab::new(|_| Reply::Right);
    let misuse = lab
        .desk
        .misuse("info s3://captures/src.pcap --storage-option aws_endpiont=x");
    assert_snapshot!(misuse, @"error: invalid value 'aws_endpiont=x' for '--storage-option <NAME=VALUE>': no store has the option aws_endpiont: names are those of object_store, such as aws_endpoint");
    let url = lab.failure("flows s3://captures -o flows.csv");
    assert_snapshot!(url, @"cannot read s3://captures: the URL names no object: s3://BUCKET/KEY is expected");
}

#[test]
fn tables_are_written_to_objects_that_appear_whole() {
    let lab = Lab::new(|_| Reply::Right);
    lab.text("rtt src.pcap dst.pcap -o rtt.parquet --flows flows.csv --quiet");
    lab.text(
        "rtt s3://captures/src.pcap s3://captures/dst.pcap -o s3://tables/a/rtt.parquet --flows \
         s3://tables/a/flows.csv --quiet",
    );
    for name in ["rtt.parquet", "flows.csv"] {
        let object = lab.server.get(&format!("/tables/a/{name}")).unwrap();
        assert!(object == lab.desk.get(name), "{name}");
    }
    assert_eq!(lab.server.open_uploads(), 0);
}

#[test]
fn a_failed_run_leaves_no_object() {
    let lab = Lab::new(|asked| match asked.method.as_str() {
        "GET" if asked.range.is_some_and(|(first, _)| first > 0) => {
            Reply::Status(403, "AccessDenied")
        }
        _ => Reply::Right,
    });
    let before = lab.server.paths();
    lab.failure("rtt s3://captures/src.pcap s3://captures/dst.pcap -o s3://tables/rtt.csv");
    assert_eq!(lab.server.paths(), before);
    assert_eq!(lab.server.open_uploads(), 0);
}

#[test]
fn an_output_that_the_store_refuses_is_reported_before_anything_is_read() {
    let lab = Lab::new(|asked| match asked.method.as_str() {
        "POST" => Reply::Status(403, "AccessDenied"),
        _ => Reply::Right,
    });
    let refused = lab.failure("rtt s3://captures/src.pcap s3://captures/x -o s3://tables/rtt.csv");
    assert!(
        refused.starts_with("cannot write s3://tables/rtt.csv: access denied: "),
        "{refused}"
    );
    let same = lab
        .desk
        .misuse("rtt s3://b/src.pcap dst.pcap -o s3://b/src.pcap");
    assert_snapshot!(same, @"error: s3://b/src.pcap is an input: name another file for the output");
}

#[test]
fn a_dataset_in_a_store_has_its_manifest_last() {
    let lab = Lab::new(|_| Reply::Right);
    lab.text("analyze src.pcap dst.pcap -o run --quiet");
    for _ in 0..2 {
        lab.text("analyze src.pcap dst.pcap -o s3://tables/run --quiet");
    }
    let asked = lab.server.asked();
    let mut written = asked
        .iter()
        .filter(|asked| asked.method == "POST" && asked.query.contains("uploadId="));
    assert_eq!(
        written.next_back().unwrap().path,
        "/tables/run/manifest.json"
    );
    let tables = lab
        .server
        .paths()
        .into_iter()
        .filter(|path| path.starts_with("/tables/run/"));
    let tables: Vec<String> = tables.collect();
    assert_eq!(
        tables.len(),
        std::fs::read_dir(lab.desk.path("run")).unwrap().count()
    );
    for path in tables {
        let name = path.strip_prefix("/tables/").unwrap();
        assert!(
            lab.server.get(&path).unwrap() == lab.desk.get(name),
            "{name}"
        );
    }
    lab.server.put("/tables/run/notes.txt", b"of somebody else");
    let refused = lab.failure("analyze src.pcap dst.pcap -o s3://tables/run --quiet");
    assert_snapshot!(refused, @"s3://tables/run holds something else than a dataset: name another directory");
}

/// A desk with pairs of captures, which a bucket has too.
fn pairs_in_a_bucket(decide: impl FnMut(&Asked) -> Reply + Send + 'static) -> Lab {
    let lab = Lab {
        desk: many(),
        server: ObjectServer::deciding(decide),
    };
    for folder in ["client", "server"] {
        for entry in std::fs::read_dir(lab.desk.path(folder)).unwrap() {
            let path = format!("{folder}/{}", entry.unwrap().file_name().to_string_lossy());
            lab.server
                .put(&format!("/lab/{path}"), &lab.desk.get(&path));
        }
    }
    lab
}

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
    pairs           0 analysed, 4 already there, 0 failed
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

#[test]
fn rotated_objects_are_one_capture() {
    let lab = pairs_in_a_bucket(|_| Reply::Right);
    let expected = lab.text("rtt client/long* server/long* --format csv");
    let of_pattern = lab.text("rtt s3://lab/client/long* s3://lab/server/long* --format csv");
    assert!(of_pattern == expected && expected.lines().count() > 100);
    let list = |folder: &str| {
        let names = lab.server.paths().into_iter();
        let names = names.filter_map(|path| {
            let name = path.strip_prefix(&format!("/lab/{folder}/"))?;
            name.starts_with("long")
                .then(|| format!("s3://lab/{folder}/{name}\n"))
        });
        names.collect::<String>()
    };
    lab.desk.put("src.txt", list("client").as_bytes());
    lab.desk.put("dst.txt", list("server").as_bytes());
    assert!(lab.text("rtt @src.txt @dst.txt --format csv") == expected);
}
