//! An assembler for the kernel's virtual machine (RFC 9669).

use std::collections::HashMap;
use std::hash::Hash;

/// A register (RFC 9669, section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Register {
    /// Result of a call, and the exit code.
    R0,
    R1,
    R2,
    R3,
    R4,
    /// From here on, calls keep the value.
    R6 = 6,
    R7,
    R8,
    R9,
}

/// Arithmetic on 64 bits (RFC 9669, section 4.1).
#[derive(Clone, Copy, Debug)]
pub(super) enum Operation {
    Add = 0x00,
    Subtract = 0x10,
    Multiply = 0x20,
    /// Unsigned.
    Divide = 0x30,
    And = 0x50,
    ShiftLeft = 0x60,
    ShiftRight = 0x70,
    /// Unsigned.
    Modulo = 0x90,
    Set = 0xb0,
}

/// Unsigned comparisons of 64 bits (RFC 9669, section 4.3).
#[derive(Clone, Copy, Debug)]
pub(super) enum Condition {
    Above = 0x20,
    AtLeast = 0x30,
    Differs = 0x50,
}

/// The second operand of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    Register(Register),
    Constant(i32),
}

impl From<Register> for Operand {
    fn from(register: Register) -> Self {
        Self::Register(register)
    }
}

impl From<i32> for Operand {
    fn from(constant: i32) -> Self {
        Self::Constant(constant)
    }
}

/// Memory of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Memory {
    /// Constants.
    Table,
    /// Zero at first, and kept between packets.
    State,
}

/// A program with the memory that it uses.
#[derive(Debug)]
pub(super) struct Program {
    /// Instructions of 8 bytes.
    pub(super) code: Vec<u8>,
    /// Offsets in `code` of instructions that load the address of a memory.
    pub(super) addresses: Vec<(u64, Memory)>,
    pub(super) table: Vec<u8>,
    pub(super) state_bytes: u64,
}

/// A program under construction. Labels are of the type `L`.
#[derive(Debug)]
pub(super) struct Assembler<L> {
    code: Vec<[u8; 8]>,
    addresses: Vec<(u64, Memory)>,
    labels: HashMap<L, usize>,
    /// Jumps: the instruction and its label.
    jumps: Vec<(usize, L)>,
}

// Classes and modes of instructions (RFC 9669, sections 3 and 5).
const LOAD_IMMEDIATE: u8 = 0x18;
const LOAD_32: u8 = 0x61;
const LOAD_64: u8 = 0x79;
const STORE_64: u8 = 0x7b;
const JUMP: u8 = 0x05;
const ALU_64: u8 = 0x07;
const WITH_REGISTER: u8 = 0x08;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;

impl<L: Copy + Eq + Hash> Assembler<L> {
    pub(super) fn new() -> Self {
        Self {
            code: Vec::new(),
            addresses: Vec::new(),
            labels: HashMap::new(),
            jumps: Vec::new(),
        }
    }

    /// `to = to OPERATION by`.
    pub(super) fn compute(
        &mut self,
        to: Register,
        operation: Operation,
        by: impl Into<Operand>,
    ) -> &mut Self {
        let (source, from, constant) = parts(by.into());
        self.push(
            ALU_64 | operation as u8 | source,
            to as u8 | from,
            0,
            constant,
        )
    }

    /// Loads a constant of 64 bits.
    pub(super) fn constant(&mut self, to: Register, value: u64) -> &mut Self {
        let bytes = value.to_le_bytes();
        let (halves, _) = bytes.as_chunks();
        // The low half comes first, and the second place is no instruction of its own.
        self.push_bytes(LOAD_IMMEDIATE, to as u8, 0, halves[0]);
        self.push_bytes(0, 0, 0, halves[1])
    }

    /// Loads the address of a memory, which the loader writes into the instruction.
    pub(super) fn address(&mut self, to: Register, of: Memory) -> &mut Self {
        self.addresses.push((8 * self.code.len() as u64, of));
        self.constant(to, 0)
    }

    pub(super) fn load_32(&mut self, to: Register, base: Register, offset: i16) -> &mut Self {
        self.push(LOAD_32, to as u8 | (base as u8) << 4, offset, 0)
    }

    pub(super) fn load_64(&mut self, to: Register, base: Register, offset: i16) -> &mut Self {
        self.push(LOAD_64, to as u8 | (base as u8) << 4, offset, 0)
    }

    pub(super) fn store_64(&mut self, base: Register, offset: i16, value: Register) -> &mut Self {
        self.push(STORE_64, base as u8 | (value as u8) << 4, offset, 0)
    }

    pub(super) fn label(&mut self, label: L) -> &mut Self {
        self.labels.insert(label, self.code.len());
        self
    }

    pub(super) fn jump(&mut self, label: L) -> &mut Self {
        self.jumps.push((self.code.len(), label));
        self.push(JUMP, 0, 0, 0)
    }

    /// Jumps if `left CONDITION right`.
    pub(super) fn jump_if(
        &mut self,
        left: Register,
        condition: Condition,
        right: impl Into<Operand>,
        label: L,
    ) -> &mut Self {
        let (source, from, constant) = parts(right.into());
        self.jumps.push((self.code.len(), label));
        self.push(
            JUMP | condition as u8 | source,
            left as u8 | from,
            0,
            constant,
        )
    }

    /// Calls a function of the kernel.
    pub(super) fn call(&mut self, function: i32) -> &mut Self {
        self.push(CALL, 0, 0, function)
    }

    pub(super) fn exit(&mut self, code: i32) -> &mut Self {
        self.compute(Register::R0, Operation::Set, code);
        self.push(EXIT, 0, 0, 0)
    }

    /// The program. Each label of a jump must be set, at most 32767 instructions after the jump.
    pub(super) fn finish(self, table: Vec<u8>, state_bytes: u64) -> Program {
        let mut code = self.code;
        for (jump, label) in self.jumps {
            // A jump counts from the instruction after it, and is forward in all our programs.
            let distance = self.labels[&label] - jump - 1;
            let distance = i16::try_from(distance).expect("a program of some hundred instructions");
            code[jump][2..4].copy_from_slice(&distance.to_le_bytes());
        }
        Program {
            code: code.concat(),
            addresses: self.addresses,
            table,
            state_bytes,
        }
    }

    fn push(&mut self, code: u8, registers: u8, offset: i16, constant: i32) -> &mut Self {
        self.push_bytes(code, registers, offset, constant.to_le_bytes())
    }

    fn push_bytes(
        &mut self,
        code: u8,
        registers: u8,
        offset: i16,
        [a, b, c, d]: [u8; 4],
    ) -> &mut Self {
        let [low, high] = offset.to_le_bytes();
        self.code.push([code, registers, low, high, a, b, c, d]);
        self
    }
}

/// The bit for a register operand, its register in place, and the constant.
fn parts(operand: Operand) -> (u8, u8, i32) {
    match operand {
        Operand::Register(register) => (WITH_REGISTER, (register as u8) << 4, 0),
        Operand::Constant(constant) => (0, 0, constant),
    }
}
