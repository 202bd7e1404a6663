//! The tcpexp command.
fn main() {}
