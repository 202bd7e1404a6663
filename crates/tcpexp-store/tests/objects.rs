//! Reading of objects from a server with faults.
#![cfg(feature = "stores")]
#![allow(clippy::unwrap_used, reason = "a panic is a failed test and says why")]

use std::io::{Read, Seek, SeekFrom, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tcpexp_store::{Error, Folder, Object, StoreOptions, Upload};
use tcpexp_testkit::{Asked, ObjectServer, Reply, find_program};

/// Larger than the head, with ranges of several lengths.
const BYTES: usize = 9_000_001;

fn bytes(seed: u32) -> Vec<u8> {
    let words = (0..).flat_map(|i: u32| (i ^ seed).wrapping_mul(2_654_435_761).to_le_bytes());
    words.take(BYTES).collect()
}

fn served(decide: impl FnMut(&Asked) -> Reply + Send + 'static) -> ObjectServer {
    let server = ObjectServer::deciding(decide);
    server.put("/bucket/src.pcap", &bytes(1));
    server
}

fn open(server: &ObjectServer) -> Result<Object, Error> {
    let url = format!("{}/bucket/src.pcap", server.endpoint());
    Object::open(&url, &StoreOptions::default())
}

fn open_s3(server: &ObjectServer, url: &str) -> Result<Object, Error> {
    Object::open(url, &options_of(server))
}

fn options_of(server: &ObjectServer) -> StoreOptions {
    let options = [
        format!("aws_endpoint={}", server.endpoint()),
        "allow_http=true".to_owned(),
        "aws_access_key_id=ID".to_owned(),
        "aws_secret_access_key=SECRET".to_owned(),
    ];
    let options = options.iter().map(|option| option.parse().unwrap());
    options.collect()
}

fn read(object: &Object) -> (Vec<u8>, Option<Error>) {
    let mut all = Vec::new();
    let end = object.reader().read_to_end(&mut all);
    assert_eq!(end.is_err(), object.failure().is_some());
    (all, object.failure())
}

#[test]
fn every_pass_yields_the_bytes_of_the_object() {
    let server = served(|_| Reply::Right);
    let object = open(&server).unwrap();
    assert_eq!(object.size(), BYTES as u64);
    for _ in 0..2 {
        assert!(read(&object) == (bytes(1), None));
    }
}

#[test]
fn requests_to_s3_are_signed() {
    let server = served(|_| Reply::Right);
    let object = open_s3(&server, "s3://bucket/src.pcap").unwrap();
    assert!(read(&object) == (bytes(1), None));
    let asked = server.asked();
    assert!(asked.iter().all(|asked| {
        let signed = asked.authorization.as_deref().unwrap_or_default();
        asked.path == "/bucket/src.pcap" && signed.starts_with("AWS4-HMAC-SHA256 Credential=ID/")
    }));
    assert_eq!(
        open_s3(&server, "s3://bucket/dst.pcap").err(),
        Some(Error::NotFound)
    );
}

#[test]
fn an_endpoint_without_tls_has_to_be_allowed() {
    let server = served(|_| Reply::Right);
    let options = [
        format!("aws_endpoint={}", server.endpoint()),
        "skip_signature=true".to_owned(),
    ];
    let options = options.iter().map(|option| option.parse().unwrap());
    let refused = Object::open("s3://bucket/src.pcap", &options.collect()).unwrap_err();
    assert_eq!(refused, Error::NoTls);
}

#[test]
fn a_missing_bucket_is_no_missing_object() {
    let server = ObjectServer::deciding(|_| Reply::Status(404, "NoSuchBucket"));
    let written = Upload::create("s3://none/rtt.csv", &options_of(&server)).unwrap_err();
    assert_eq!(written, Error::NoBucket);
    let read = open_s3(&server, "s3://none/src.pcap").unwrap_err();
    assert_eq!(read, Error::NoBucket);
}

#[test]
fn reading_the_head_requests_only_the_head() {
    let server = served(|_| Reply::Right);
    let object = open(&server).unwrap();
    let mut start = [0; 1000];
    object.reader().read_exact(&mut start).unwrap();
    let ranges: Vec<_> = server.asked().iter().map(|asked| asked.range).collect();
    assert_eq!(ranges, [Some((0, (256 << 10) - 1))]);
}

#[test]
fn a_seek_starts_with_a_small_range() {
    let server = served(|_| Reply::Right);
    let object = open(&server).unwrap();
    let mut reader = object.reader();
    for place in [5_000_000, 100, BYTES as u64 - 10] {
        reader.seek(SeekFrom::Start(place)).unwrap();
        let mut some = [0; 10];
        reader.read_exact(&mut some).unwrap();
        let place = usize::try_from(place).unwrap();
        assert_eq!(some, bytes(1)[place..place + 10]);
    }
    assert_eq!(reader.read(&mut [0; 10]).unwrap(), 0);
    assert_eq!(server.asked().len(), 3, "the head is known");
}

#[test]
fn an_empty_object_has_no_bytes() {
    let server = ObjectServer::start();
    server.put("/bucket/src.pcap", b"");
    let object = open(&server).unwrap();
    assert_eq!((object.size(), read(&object)), (0, (Vec::new(), None)));
}

#[test]
fn a_request_to_a_busy_store_is_repeated() {
    let server = served(|asked| match asked.number % 3 {
        2 => Reply::Right,
        _ => Reply::Status(503, "SlowDown"),
    });
    assert!(read(&open(&server).unwrap()) == (bytes(1), None));
}

#[test]
fn a_store_that_is_out_of_reach_is_reported_once_the_time_is_over() {
    let server = served(|_| Reply::Status(503, "SlowDown"));
    let time = Duration::from_secs(1);
    let options = options_of(&server).retrying_for(time);
    let began = Instant::now();
    let error = Object::open("s3://bucket/src.pcap", &options).unwrap_err();
    assert!(matches!(error, Error::Failed { .. }), "{error}");
    assert!(began.elapsed() >= time);
    // Another request would be repeated for as long.
    assert!(server.asked().iter().all(|asked| asked.method == "GET"));
}

#[test]
fn a_connection_that_breaks_is_continued() {
    let server = served(|asked| match asked.number % 2 {
        0 => Reply::Right,
        _ => Reply::Cut(100_000),
    });
    assert!(read(&open(&server).unwrap()) == (bytes(1), None));
}

#[test]
fn a_slow_store_yields_all_bytes() {
    let server = served(|_| Reply::Slow(Duration::from_millis(20)));
    assert!(read(&open(&server).unwrap()) == (bytes(1), None));
}

#[test]
fn an_object_that_is_replaced_is_an_error_and_never_mixed_bytes() {
    let server = served(|asked| match asked.number {
        2 => Reply::Replaced(bytes(2)),
        _ => Reply::Right,
    });
    let object = open(&server).unwrap();
    let (all, failure) = read(&object);
    assert_eq!(failure, Some(Error::Changed));
    assert!(bytes(1).starts_with(&all));
    // A later reader of the same object does not see the new version either.
    let mut all = Vec::new();
    assert!(object.reader().read_to_end(&mut all).is_err());
    assert!(bytes(1).starts_with(&all));
}

#[test]
fn credentials_that_expire_are_one_clear_error() {
    let server = served(|asked| match asked.number {
        0 => Reply::Right,
        _ => Reply::Status(403, "ExpiredToken"),
    });
    let object = open_s3(&server, "s3://bucket/src.pcap").unwrap();
    let (all, failure) = read(&object);
    assert!(bytes(1).starts_with(&all) && all.len() < BYTES);
    let text = failure.unwrap().to_string();
    assert!(text.starts_with("access denied: "), "{text}");
    assert!(
        text.ends_with("ExpiredToken: test of ExpiredToken"),
        "{text}"
    );
}

#[test]
fn an_object_that_is_written_in_parts_appears_whole() {
    let server = ObjectServer::deciding(|asked| match asked.number % 3 {
        2 => Reply::Status(503, "SlowDown"),
        _ => Reply::Right,
    });
    let object = [bytes(1), bytes(2), bytes(3)].concat();
    let mut upload = Upload::create("s3://bucket/rtt.csv", &options_of(&server)).unwrap();
    for part in object.chunks(1_000_000) {
        upload.write_all(part).unwrap();
        assert_eq!(server.get("/bucket/rtt.csv"), None);
    }
    upload.finish().unwrap();
    assert!(server.get("/bucket/rtt.csv").unwrap() == object);
}

#[test]
fn an_upload_that_is_dropped_leaves_nothing() {
    let server = ObjectServer::start();
    let mut upload = Upload::create("s3://bucket/rtt.csv", &options_of(&server)).unwrap();
    upload.write_all(&bytes(1)).unwrap();
    drop(upload);
    assert_eq!((server.paths(), server.open_uploads()), (Vec::new(), 0));
}

#[test]
fn an_empty_object_is_written() {
    let server = ObjectServer::start();
    let upload = Upload::create("s3://bucket/none.csv", &options_of(&server)).unwrap();
    upload.finish().unwrap();
    assert_eq!(server.get("/bucket/none.csv"), Some(Vec::new()));
    assert_eq!(server.open_uploads(), 0);
}

#[test]
fn a_web_server_takes_an_object_at_once() {
    let server = ObjectServer::start();
    let url = format!("{}/tables/rtt.csv", server.endpoint());
    let mut upload = Upload::create(&url, &StoreOptions::default()).unwrap();
    upload.write_all(&bytes(1)).unwrap();
    upload.finish().unwrap();
    assert!(server.get("/tables/rtt.csv").unwrap() == bytes(1));
}

#[test]
fn objects_that_mark_folders_are_not_in_them() {
    let server = ObjectServer::start();
    for (path, bytes) in [
        ("/bucket/run/", &b""[..]),
        ("/bucket/run/sub/", b""),
        ("/bucket/run/empty.pcap", b""),
        ("/bucket/run/src.pcap", b"x"),
    ] {
        server.put(path, bytes);
    }
    let folder = Folder::at("s3://bucket/run", &options_of(&server)).unwrap();
    assert_eq!(folder.objects().unwrap(), ["empty.pcap", "src.pcap"]);
    let all = folder.all().unwrap();
    let all: Vec<_> = all.iter().map(|object| object.name.as_str()).collect();
    assert_eq!(all, ["empty.pcap", "src.pcap"]);
}

#[test]
fn the_tag_of_an_upload_is_that_in_the_list() {
    let server = ObjectServer::start();
    let folder = Folder::at("s3://bucket/run", &options_of(&server)).unwrap();
    let write = |text: &[u8]| {
        let mut upload = folder.create("rtt.parquet").unwrap();
        upload.write_all(text).unwrap();
        upload.finish().unwrap()
    };
    let in_list = || folder.tags().unwrap()["rtt.parquet"].clone();
    let first = write(b"one run");
    assert!(first.is_some());
    assert_eq!(in_list(), first);
    write(b"another run");
    assert_ne!(in_list(), first);
}

#[test]
fn a_store_that_only_replaces_objects_takes_a_new_one() {
    let mut puts = 0;
    let server = ObjectServer::deciding(move |asked| {
        puts += usize::from(asked.method == "PUT");
        match (asked.method.as_str(), puts) {
            ("PUT", 1) => Reply::Status(400, "NotImplemented"),
            _ => Reply::Right,
        }
    });
    let folder = Folder::at("s3://bucket/run", &options_of(&server)).unwrap();
    assert_eq!(folder.put_new("manifest.json", b"{}".to_vec()), Ok(true));
}

/// A server that a test started.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
#[ignore = "starts MinIO, which .ci/object-stores builds"]
fn a_real_store_keeps_what_is_promised() {
    let minio = find_program("minio").expect("the program minio");
    let folder = tempfile::tempdir().unwrap();
    // A directory is a bucket.
    std::fs::create_dir(folder.path().join("bucket")).unwrap();
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let _server = Started(
        Command::new(minio)
            .args(["server", "--quiet", "--address", &address.to_string()])
            .arg(folder.path())
            .env("MINIO_ROOT_USER", "tester")
            .env("MINIO_ROOT_PASSWORD", "of-the-tester")
            .stdout(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let options = |secret: &str| -> StoreOptions {
        let options = [
            format!("aws_endpoint=http://{address}"),
            "allow_http=true".to_owned(),
            "aws_access_key_id=tester".to_owned(),
            format!("aws_secret_access_key={secret}"),
        ];
        options
            .iter()
            .map(|option| option.parse().unwrap())
            .collect()
    };
    let right = options("of-the-tester");
    let url = "s3://bucket/a/src.pcap";
    let put = |seed| {
        // The server may still be starting, and is asked again.
        let mut upload = Upload::create(url, &right).unwrap();
        upload.write_all(&bytes(seed)).unwrap();
        upload.finish().unwrap();
    };
    put(1);
    let object = Object::open(url, &right).unwrap();
    for _ in 0..2 {
        assert!(read(&object) == (bytes(1), None));
    }
    let denied = Object::open(url, &options("of-somebody-else")).unwrap_err();
    assert!(matches!(denied, Error::Denied { .. }), "{denied}");
    put(2);
    let (all, failure) = read(&object);
    assert!(bytes(1).starts_with(&all));
    assert_eq!(failure, Some(Error::Changed));
    let mut dropped = Upload::create("s3://bucket/a/rtt.csv", &right).unwrap();
    dropped.write_all(&bytes(1)).unwrap();
    drop(dropped);
    let folder = Folder::at("s3://bucket/a", &right).unwrap();
    assert_eq!(folder.names().unwrap(), ["src.pcap"]);
    folder.remove("src.pcap").unwrap();
    assert_eq!(folder.names().unwrap(), [""; 0]);
    assert_eq!(Object::open(url, &right).unwrap_err(), Error::NotFound);
}
