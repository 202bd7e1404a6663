//! Captures in object stores.

mod many_pairs;

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
fn an_error_in_an_input_names_its_url() {
    let lab = Lab::new(|_| Reply::Right);
    for file in ["x.json", "x.txt"] {
        lab.server.put(&format!("/captures/{file}"), b"neither");
    }
    let failure = |line: &str| {
        let server = lab.server.endpoint();
        lab.failure(&line.replace("URL", &format!("{server}/captures/x")))
    };
    let lines = [
        "rtt src.pcap dst.pcap --survey URL.json",
        "import ss URL.txt",
        "import ss s3://captures/x.txt",
        "import ss URL",
        "import ss s3://captures/x",
    ];
    assert_snapshot!(lines.map(failure).join("\n"), @r"
    http://server/captures/x.json is not a survey: expected ident at line 1 column 2
    cannot read http://server/captures/x.txt: none of 1 line can be used; line 1: cut off by the end of the file
    cannot read s3://captures/x.txt: none of 1 line can be used; line 1: cut off by the end of the file
    cannot read http://server/captures/x: there is no such object
    cannot read s3://captures/x: there is no such object
    ");
}

#[test]
fn signatures_and_passwords_are_in_no_text_and_no_table() {
    let lab = Lab::new(|_| Reply::Right);
    let ping = "[1767225609.5] 64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=0.5 ms\n";
    lab.server.put("/captures/ping.txt", ping.as_bytes());
    let secret = |name: &str| {
        let place = lab
            .server
            .endpoint()
            .replace("http://", "http://me:SECRET@");
        format!("{place}/captures/{name}?X-Amz-Signature=SECRET")
    };
    let line = format!("rtt {} dst.pcap -o rtt.csv", secret("x.pcap"));
    assert_snapshot!(lab.failure(&line), @"cannot read http://server/captures/x.pcap: there is no such object");
    for line in [
        format!("analyze src.pcap --log ping={} -o x", secret("x.txt")),
        format!("plot ecdf {} -o x.svg", secret("x.csv")),
        format!("rtt src.pcap dst.pcap --survey {}", secret("x.json")),
    ] {
        let failure = lab.failure(&line);
        assert!(
            failure.contains("http://server/captures/x.") && !failure.contains("SECRET"),
            "{failure}"
        );
    }
    let log = secret("ping.txt");
    lab.text(&format!(
        "analyze src.pcap --log ping={log} -o data --quiet"
    ));
    for file in ["manifest.json", "logs.parquet"] {
        let written = lab.desk.get(&format!("data/{file}"));
        let written = String::from_utf8_lossy(&written);
        assert!(
            written.contains("/captures/ping.txt") && !written.contains("SECRET"),
            "{file}"
        );
    }
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
    assert_snapshot!(misuse, @"error: invalid value 'aws_endpiont=…' for '--storage-option <NAME=VALUE>': no store has the option aws_endpiont: names are those of object_store, such as aws_endpoint");
    let url = lab.failure("flows s3://captures -o flows.csv");
    assert_snapshot!(url, @"cannot read s3://captures: the URL names no object: expected s3://BUCKET/KEY");
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
    let mut written = asked.iter().filter(|asked| {
        let is_whole = asked.method == "PUT" && asked.query.is_empty();
        is_whole || asked.method == "POST" && asked.query.contains("uploadId=")
    });
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
    assert_snapshot!(refused, @"s3://tables/run contains something other than a dataset: name another directory");
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
