//! A small HTTP server with the requests of S3 that readers and writers of objects make, and with
//! faults on demand.

mod answer;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use self::answer::{Answer, content, list, tag};

/// Serves objects in memory on a port of this machine, until it is dropped.
///
/// A path is that of an object: `/BUCKET/KEY` for S3. Signatures are not checked. It answers `GET` and
/// `HEAD` with `Range` and `If-Match`, `PUT`, also with `If-None-Match`, uploads in parts, `DELETE` and
/// lists of one bucket.
pub struct ObjectServer {
    address: SocketAddr,
    state: Arc<State>,
}

/// A request that the server received.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Number of earlier requests.
    pub number: usize,
    /// Method, such as `GET`.
    pub method: String,
    /// Path without the query, such as `/bucket/key`.
    pub path: String,
    /// Query, without `?`.
    pub query: String,
    /// First and last byte of `Range`.
    pub range: Option<(usize, usize)>,
    /// The header `Authorization`.
    pub authorization: Option<String>,
}

/// What the server does with a request.
#[derive(Clone, Debug, Default)]
pub enum Reply {
    /// Answers as it should.
    #[default]
    Right,
    /// Answers with this status and this code of an error.
    Status(u16, &'static str),
    /// Closes the connection after this many bytes of the content.
    Cut(usize),
    /// Waits before each quarter of the content.
    Slow(Duration),
    /// Replaces the object with these bytes, then answers.
    Replaced(Vec<u8>),
}

type Decide = Box<dyn FnMut(&Asked) -> Reply + Send>;

struct State {
    objects: Mutex<BTreeMap<String, Vec<u8>>>,
    parts: Mutex<HashMap<String, BTreeMap<usize, Vec<u8>>>>,
    asked: Mutex<Vec<Asked>>,
    decide: Mutex<Decide>,
    has_ended: AtomicBool,
}

impl ObjectServer {
    /// Starts a server that answers all requests as it should.
    pub fn start() -> Self {
        Self::deciding(|_| Reply::Right)
    }

    /// Starts a server that asks `decide` before each answer.
    pub fn deciding(decide: impl FnMut(&Asked) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            objects: Mutex::default(),
            parts: Mutex::default(),
            asked: Mutex::default(),
            decide: Mutex::new(Box::new(decide)),
            has_ended: AtomicBool::new(false),
        });
        let of_thread = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if of_thread.has_ended.load(Ordering::Relaxed) {
                    break;
                }
                let state = Arc::clone(&of_thread);
                // A client may close a connection at any time.
                thread::spawn(move || drop(state.serve(stream)));
            }
        });
        Self { address, state }
    }

    /// URL of the server, without a slash at its end.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Puts an object at a path such as `/bucket/key`.
    pub fn put(&self, path: &str, bytes: &[u8]) {
        let mut objects = self.state.objects.lock().unwrap();
        objects.insert(path.to_owned(), bytes.to_vec());
    }

    /// The object at a path.
    pub fn get(&self, path: &str) -> Option<Vec<u8>> {
        self.state.objects.lock().unwrap().get(path).cloned()
    }

    /// Paths of all objects.
    pub fn paths(&self) -> Vec<String> {
        self.state.objects.lock().unwrap().keys().cloned().collect()
    }

    /// Number of uploads in parts that were neither completed nor aborted.
    pub fn open_uploads(&self) -> usize {
        self.state.parts.lock().unwrap().len()
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }
}

impl Drop for ObjectServer {
    fn drop(&mut self) {
        self.state.has_ended.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for connections.
        drop(TcpStream::connect(self.address));
    }
}

/// A request with what only the answer depends on.
struct Received {
    asked: Asked,
    if_match: Option<String>,
    is_new_only: bool,
    body: Vec<u8>,
}

impl State {
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut out = stream;
        while let Some(received) = self.read(&mut reader)? {
            let Received {
                asked,
                if_match,
                is_new_only,
                body,
            } = received;
            if is_new_only && self.objects.lock().unwrap().contains_key(&asked.path) {
                let error = Answer::error(412, "PreconditionFailed").content;
                let head = format!("HTTP/1.1 412 -\r\nContent-Length: {}\r\n\r\n", error.len());
                out.write_all(&[head.into_bytes(), error].concat())?;
                continue;
            }
            let reply = (self.decide.lock().unwrap())(&asked);
            let answer = match &reply {
                Reply::Status(status, code) => Answer::error(*status, code),
                Reply::Replaced(bytes) => {
                    let mut objects = self.objects.lock().unwrap();
                    objects.insert(asked.path.clone(), bytes.clone());
                    drop(objects);
                    self.answer(&asked, if_match.as_deref(), body)
                }
                _ => self.answer(&asked, if_match.as_deref(), body),
            };
            let mut head = format!("HTTP/1.1 {} -\r\n", answer.status);
            for (name, value) in &answer.headers {
                write!(head, "{name}: {value}\r\n").unwrap();
            }
            write!(head, "Content-Length: {}\r\n\r\n", answer.content.len()).unwrap();
            out.write_all(head.as_bytes())?;
            if asked.method == "HEAD" {
                continue;
            }
            match reply {
                Reply::Cut(after) => {
                    out.write_all(&answer.content[..after.min(answer.content.len())])?;
                    return out.shutdown(std::net::Shutdown::Both);
                }
                Reply::Slow(pause) => {
                    for part in answer
                        .content
                        .chunks(answer.content.len().div_ceil(4).max(1))
                    {
                        thread::sleep(pause);
                        out.write_all(part)?;
                    }
                }
                _ => out.write_all(&answer.content)?,
            }
        }
        Ok(())
    }

    /// Reads a request; `None` at the end of the connection.
    fn read(&self, reader: &mut impl BufRead) -> io::Result<Option<Received>> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let header = |name: &str| {
            let mut named = lines.iter().filter_map(|line| line.split_once(": "));
            let found = named.find(|(found, _)| found.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.to_owned())
        };
        let mut words = lines.first().map_or("", |line| line).split(' ');
        let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let range = header("range").and_then(|range| {
            let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
            Some((first.parse().ok()?, last.parse().ok()?))
        });
        let length = header("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let mut all = self.asked.lock().unwrap();
        let asked = Asked {
            number: all.len(),
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            range,
            authorization: header("authorization"),
        };
        all.push(asked.clone());
        Ok(Some(Received {
            asked,
            if_match: header("if-match"),
            is_new_only: header("if-none-match").is_some(),
            body,
        }))
    }

    fn answer(&self, asked: &Asked, if_match: Option<&str>, body: Vec<u8>) -> Answer {
        let query: HashMap<&str, &str> = asked
            .query
            .split('&')
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .collect();
        let mut objects = self.objects.lock().unwrap();
        let mut parts = self.parts.lock().unwrap();
        match (asked.method.as_str(), query.get("uploadId")) {
            ("GET", _) if query.contains_key("list-type") => {
                let prefix = query.get("prefix").unwrap_or(&"");
                list(
                    &objects,
                    &asked.path,
                    prefix,
                    query.contains_key("delimiter"),
                )
            }
            ("GET" | "HEAD", _) => match objects.get(&asked.path) {
                Some(object) => content(object, asked.range, if_match),
                None => Answer::error(404, "NoSuchKey"),
            },
            ("POST", None) if query.contains_key("uploads") => {
                let id = format!("upload-{}", asked.number);
                parts.insert(id.clone(), BTreeMap::new());
                Answer::of(
                    200,
                    format!(
                        "<InitiateMultipartUploadResult><UploadId>{id}</UploadId>\
                         </InitiateMultipartUploadResult>"
                    ),
                )
            }
            ("POST", None) if query.contains_key("delete") => {
                let text = String::from_utf8(body).unwrap();
                let keys = text.split("<Key>").skip(1);
                let mut deleted = String::new();
                for key in keys.map(|after| after.split('<').next().unwrap()) {
                    objects.remove(&format!("{}/{key}", asked.path.trim_end_matches('/')));
                    write!(deleted, "<Deleted><Key>{key}</Key></Deleted>").unwrap();
                }
                Answer::of(200, format!("<DeleteResult>{deleted}</DeleteResult>"))
            }
            ("PUT", Some(&id)) => {
                let number = query["partNumber"].parse().unwrap();
                let tag = tag(&body);
                match parts.get_mut(id) {
                    Some(upload) => {
                        upload.insert(number, body);
                        Answer::of(200, "").header("ETag", tag)
                    }
                    None => Answer::error(404, "NoSuchUpload"),
                }
            }
            ("POST", Some(&id)) => match parts.remove(id) {
                Some(upload) => {
                    let bytes: Vec<u8> = upload.into_values().flatten().collect();
                    let tag = tag(&bytes);
                    objects.insert(asked.path.clone(), bytes);
                    Answer::of(
                        200,
                        format!(
                            "<CompleteMultipartUploadResult><ETag>{tag}</ETag>\
                             </CompleteMultipartUploadResult>"
                        ),
                    )
                }
                None => Answer::error(404, "NoSuchUpload"),
            },
            ("DELETE", Some(&id)) => {
                parts.remove(id);
                Answer::of(204, "")
            }
            ("PUT", None) => {
                let tag = tag(&body);
                objects.insert(asked.path.clone(), body);
                Answer::of(200, "").header("ETag", tag)
            }
            ("DELETE", None) => {
                objects.remove(&asked.path);
                Answer::of(204, "")
            }
            _ => Answer::error(501, "NotImplemented"),
        }
    }
}
