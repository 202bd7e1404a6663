//! Summaries per connection and direction, as shown by `tcpexp flows`.

mod connection;
mod ending;
mod half;
mod handshake;
mod out_of_sequence;
mod outstanding;
mod summary;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

pub use connection::Connection;
pub use ending::Ending;
pub use out_of_sequence::{ByCause, Retransmitted};
pub use summary::{ConnectionSummary, DirectionSummary, QuicConnection, RareCounts};
