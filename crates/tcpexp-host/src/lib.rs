//! Text exchanged with hosts: words for a POSIX shell, and the JSON of `tc`.
//!
//! All code that writes or reads this text uses this crate, so quoting and counters each have one
//! definition. The crate opens no files and runs no programs.
//!
//! ```
//! use tcpexp_host::{Qdisc, command_line};
//!
//! assert_eq!(command_line(["echo", "it's"]), r"echo 'it'\''s'");
//!
//! let cake = r#"[{"kind":"cake","handle":"1:","root":true,"drops":3,
//!                 "tins":[{"ecn_mark":5},{"ecn_mark":2}]}]"#;
//! let qdiscs = Qdisc::list(cake)?;
//! assert_eq!((qdiscs[0].drops, qdiscs[0].marks()), (Some(3), Some(7)));
//! # Ok::<(), serde_json::Error>(())
//! ```

mod qdisc;
mod shell;

pub use qdisc::{Qdisc, from_values, list};
pub use shell::{command_line, quote};
