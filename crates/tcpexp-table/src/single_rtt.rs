//! The table of `tcpexp rtt CAPTURE`: a row per round-trip time sample.

use tcpexp_measure::rtt::{RttEstimate, SingleRttSample};

use crate::columns::{Builder, Columns};
use crate::labels::{Labelled, flow_columns};

/// The columns of `tcpexp rtt CAPTURE`.
pub fn single_rtt_columns() -> Columns<Labelled<SingleRttSample>> {
    let columns = flow_columns(Columns::named("single_rtt"), |row: &Labelled<SingleRttSample>| &row.flow)
        .name("direction", "Direction of the answered packet: forward (initiator to responder) or reverse. The round trip is between the capture and the receiver of that packet.", |row| row.row.direction.name())
        .time("time", "Capture time of the answer.", |row| row.row.at)
        .span_twice("rtt", "Time from the capture of the packet to the capture of its answer, in nanoseconds, including the receiver's response time. Negative if the capture's times run backwards.", |row| row.row.rtt)
        .maybe_span("rtt_error_ns", "Maximum error of rtt in nanoseconds. For the spin bit, the waiting time at the answer's sender within rtt: the round trip over the path is shorter than rtt by at most this, as far as the gaps between packets at the capture show, unless a queue between the answer's sender and the capture hides a pause, or two successive packets are lost beyond the capture. The other methods have no such bound. If the capture's clock advances in steps of more than 1 µs, the step is added: the time that an exact clock would show differs by less than the step, either way. Null if neither applies.", |row| row.row.error)
        .name("method", "Method that identifies the answer: sequence_ack (it acknowledges the segment, which was sent only once), timestamps (it is the first to echo the packet's TSval), or of QUIC quic_handshake (its connection ID shows that its sender has received the other end's first Initial packet) or spin_bit (it repeats a change of the spin bit, RFC 9000, section 17.4; samples begin once both directions show that the bit is not random).", |row| row.row.method.name())
        .name("ack_class", "Kind of answer: handshake, cumulative, after_reordering, selective (a SACK block only), duplicate, unasked (the packet required no answer, so the time is an upper bound), or spin.", |row| row.row.ack_class.name());
    let columns = estimate(columns, "rfc6298", "by the rules of RFC 6298", |sample| {
        sample.rfc6298
    });
    estimate(columns, "linux", "by the rules of Linux", |sample| {
        sample.linux
    })
    .done()
}

fn estimate(
    columns: Builder<Labelled<SingleRttSample>>,
    name: &str,
    rule: &str,
    of: fn(&SingleRttSample) -> Option<RttEstimate>,
) -> Builder<Labelled<SingleRttSample>> {
    let none = "Null before the first sample that counts, and while samples that the capture missed may change the smoothed time by more than 5 %.";
    columns
        .maybe_span(&format!("{name}_srtt_ns"), &format!("Smoothed round-trip time after this sample in nanoseconds, {rule}, if the sender were at the capture. {none}"), move |row| Some(of(&row.row)?.srtt))
        .maybe_span(&format!("{name}_rttvar_ns"), &format!("Mean deviation of the round-trip time in nanoseconds, {rule}. {none}"), move |row| Some(of(&row.row)?.rttvar))
        .maybe_span(&format!("{name}_rto_ns"), &format!("Retransmission timeout in nanoseconds, {rule}, not backed off. {none}"), move |row| Some(of(&row.row)?.rto))
}
