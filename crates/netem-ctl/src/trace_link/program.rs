//! The program: when a packet that arrives now leaves.

use super::assembler::Condition::{Above, AtLeast, Differs};
use super::assembler::Operation::{
    Add, And, Divide, Modulo, Multiply, Set, ShiftLeft, ShiftRight, Subtract,
};
use super::assembler::Register::{self, R0, R1, R2, R3, R4, R6, R7, R8, R9};
use super::assembler::{Assembler, Memory, Program};
use crate::bottleneck::{FULL_FRAME, Opportunities};

/// Places in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// Not the first packet.
    Later,
    /// The link is idle: the packet waits for the next opportunity.
    Idle,
    /// The link is busy: the packet follows the one before it.
    Busy,
    /// The opportunity and what is left of it are known.
    Carry,
    /// The packet fits into what is left.
    Fits,
    /// The last opportunity of the packet is known.
    Stamp,
    /// The queue is full.
    Full,
}

// The state of the link: 8 bytes each, then the times at which the latest packets leave.
/// Time of the first packet, on the monotonic clock; 0 before it.
const ORIGIN: i16 = 0;
/// The opportunity of the latest packet, counted over all passes of the trace.
const OPPORTUNITY: i16 = 8;
/// Bytes that this opportunity can still carry.
const LEFT_BYTES: i16 = 16;
/// Time of this opportunity after the first packet, in nanoseconds.
const BUSY_UNTIL: i16 = 24;
/// Number of packets accepted.
const ACCEPTED: i16 = 32;
const DEPARTURES: i16 = 40;

// Offsets in `struct __sk_buff` (`linux/bpf.h`).
const SKB_LEN: i16 = 0;
const SKB_TSTAMP: i16 = 152;
/// `bpf_ktime_get_ns` (`linux/bpf.h`).
const NOW: i32 = 5;
/// `TC_ACT_OK` and `TC_ACT_SHOT` (`linux/pkt_cls.h`).
const ACCEPT: i32 = 0;
const DROP: i32 = 2;

/// Bytes of an opportunity.
const CAPACITY: i32 = 1_514;
const _: () = assert!(CAPACITY.unsigned_abs() as u64 == FULL_FRAME);

/// Assembles the program for a link and a queue of `limit` packets.
///
/// In all steps, R6 is the packet, R7 its arrival after the first packet, R8 the state and R9 the table.
pub(super) fn assemble(link: &Opportunities, limit: u32) -> Program {
    let table = Table::of(link);
    let ring = limit.next_power_of_two();
    let mut code = Assembler::new();
    admit(&mut code, limit, ring);
    find_opportunity(&mut code, &table);
    carry(&mut code);
    stamp(&mut code, &table, ring);
    code.label(Place::Full).exit(DROP);
    let state_bytes = u64::from(DEPARTURES.unsigned_abs()) + 8 * u64::from(ring);
    code.finish(table.bytes, state_bytes)
}

/// Drops the packet if the queue is full. Else continues at an idle or a busy link.
fn admit(code: &mut Assembler<Place>, limit: u32, ring: u32) {
    code.compute(R6, Set, R1)
        .address(R8, Memory::State)
        .address(R9, Memory::Table)
        .call(NOW)
        .load_64(R1, R8, ORIGIN)
        .jump_if(R1, Differs, 0, Place::Later)
        .store_64(R8, ORIGIN, R0)
        .compute(R7, Set, 0)
        .jump(Place::Idle);

    // R7 is the time since the first packet. The queue is full if the packet that was accepted `limit`
    // packets ago has not left. Places that no packet has been written to are 0.
    code.label(Place::Later)
        .compute(R7, Set, R0)
        .compute(R7, Subtract, R1)
        .load_64(R2, R8, ACCEPTED)
        .compute(R2, Subtract, constant(limit));
    departure(code, R2, ring);
    code.load_64(R3, R2, DEPARTURES)
        .jump_if(R3, Above, R7, Place::Full)
        .load_64(R3, R8, BUSY_UNTIL)
        .jump_if(R3, AtLeast, R7, Place::Busy);
}

/// Finds the first opportunity of a packet on an idle link.
fn find_opportunity(code: &mut Assembler<Place>, table: &Table) {
    // R1 becomes the first opportunity that is not before R7, R2 its bytes.
    code.label(Place::Idle)
        .constant(R4, table.period_ns)
        .compute(R1, Set, R7)
        .compute(R1, Divide, R4)
        .compute(R2, Set, R7)
        .compute(R2, Modulo, R4)
        // A time of the table is whole microseconds.
        .compute(R2, Add, 999)
        .compute(R2, Divide, 1_000)
        .compute(R3, Set, 0);
    // A binary search without branches, so that the kernel's verifier follows it only once. R3 is the
    // number of times before R2.
    for bit in (0..table.bits).rev() {
        let step = 1 << bit;
        code.compute(R4, Set, R3).compute(R4, Add, step - 1);
        time_us(code, R4, table);
        code.compute(R4, Subtract, R2)
            .compute(R4, ShiftRight, 63)
            .compute(R4, ShiftLeft, bit)
            .compute(R3, Add, R4);
    }
    code.compute(R1, Multiply, table.packets)
        .compute(R1, Add, R3)
        .compute(R2, Set, CAPACITY)
        .jump(Place::Carry);
}

/// Counts the opportunities and bytes that the packet takes, from where the link stands.
fn carry(code: &mut Assembler<Place>) {
    code.label(Place::Busy)
        .load_64(R1, R8, OPPORTUNITY)
        .load_64(R2, R8, LEFT_BYTES);

    // R3 is the length of the packet. It takes as many opportunities as it needs.
    code.label(Place::Carry)
        .load_32(R3, R6, SKB_LEN)
        .jump_if(R2, AtLeast, R3, Place::Fits)
        .compute(R3, Subtract, R2)
        .compute(R2, Set, R3)
        .compute(R2, Add, CAPACITY - 1)
        .compute(R2, Divide, CAPACITY)
        .compute(R1, Add, R2)
        .compute(R2, Multiply, CAPACITY)
        .compute(R2, Subtract, R3)
        .jump(Place::Stamp);
    code.label(Place::Fits).compute(R2, Subtract, R3);
}

/// Lets the packet leave at the time of its opportunity, and keeps this time for later packets.
fn stamp(code: &mut Assembler<Place>, table: &Table, ring: u32) {
    // The packet leaves at the time of opportunity R1.
    code.label(Place::Stamp)
        .store_64(R8, OPPORTUNITY, R1)
        .store_64(R8, LEFT_BYTES, R2)
        .compute(R2, Set, R1)
        .compute(R2, Divide, table.packets)
        .compute(R1, Modulo, table.packets);
    time_us(code, R1, table);
    code.compute(R1, Multiply, 1_000)
        .constant(R4, table.period_ns)
        .compute(R2, Multiply, R4)
        .compute(R1, Add, R2)
        .store_64(R8, BUSY_UNTIL, R1)
        .load_64(R3, R8, ACCEPTED)
        .compute(R2, Set, R3);
    departure(code, R2, ring);
    code.store_64(R2, DEPARTURES, R1)
        .compute(R3, Add, 1)
        .store_64(R8, ACCEPTED, R3)
        .load_64(R2, R8, ORIGIN)
        .compute(R1, Add, R2)
        .store_64(R6, SKB_TSTAMP, R1)
        .exit(ACCEPT);
}

/// The times of a trace, for a binary search over `2^bits - 1` of them.
struct Table {
    /// Times in microseconds, and the largest number after them; `2^bits` in all.
    bytes: Vec<u8>,
    bits: i32,
    packets: i32,
    period_ns: u64,
}

impl Table {
    fn of(link: &Opportunities) -> Self {
        let packets = link.at_us.len();
        let size = (packets + 1).next_power_of_two();
        let beyond = std::iter::repeat_n(u32::MAX, size - packets);
        let times = link.at_us.iter().copied().chain(beyond);
        Self {
            bytes: times.flat_map(u32::to_le_bytes).collect(),
            bits: constant(size.trailing_zeros()),
            packets: i32::try_from(packets).expect("a trace has fewer than 2^20 packets"),
            period_ns: u64::from(link.period_us) * 1_000,
        }
    }
}

/// Turns the number of an opportunity in its pass of the trace into its time.
fn time_us(code: &mut Assembler<Place>, register: Register, table: &Table) {
    // The mask shows the verifier that the number is in the table.
    let mask = (1 << table.bits) - 1;
    code.compute(register, And, mask)
        .compute(register, ShiftLeft, 2)
        .compute(register, Add, R9)
        .load_32(register, register, 0);
}

/// Turns the number of a packet into the base of the place of its departure.
fn departure(code: &mut Assembler<Place>, register: Register, ring: u32) {
    code.compute(register, And, constant(ring - 1))
        .compute(register, ShiftLeft, 3)
        .compute(register, Add, R8);
}

/// A number that fits an instruction.
fn constant(number: u32) -> i32 {
    i32::try_from(number).expect("a queue has less than 4 GB, a trace fewer than 2^20 packets")
}
