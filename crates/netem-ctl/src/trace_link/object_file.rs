//! The object file that `tc` loads.

use object::write::{Object, Relocation, SectionId, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope, elf,
};

use super::assembler::{Memory, Program};

/// Name of the section of the program, which is an argument of `tc`.
pub(crate) const SECTION: &str = "tc";

/// The kernel requires a license for some functions; ours calls none of these.
const LICENSE: &[u8] = b"Dual MIT/GPL\0";

/// Writes the program as an object file with the sections that libbpf reads.
pub(super) fn write(program: &Program) -> Vec<u8> {
    let mut file = Object::new(BinaryFormat::Elf, Architecture::Bpf, Endianness::Little);
    let mut section = |name: &str, kind| file.add_section(Vec::new(), name.into(), kind);
    let code = section(SECTION, SectionKind::Text);
    let table = section(".rodata", SectionKind::ReadOnlyData);
    let state = section(".bss", SectionKind::UninitializedData);
    let license = section("license", SectionKind::Data);
    file.append_section_data(code, &program.code, 8);
    file.append_section_data(table, &program.table, 8);
    file.append_section_bss(state, program.state_bytes, 8);
    file.append_section_data(license, LICENSE, 1);
    file.add_symbol(Symbol {
        name: b"trace_link".into(),
        value: 0,
        size: program.code.len() as u64,
        kind: SymbolKind::Text,
        scope: SymbolScope::Dynamic,
        weak: false,
        section: SymbolSection::Section(code),
        flags: SymbolFlags::None,
    });
    for (offset, memory) in &program.addresses {
        let section: SectionId = match memory {
            Memory::Table => table,
            Memory::State => state,
        };
        let symbol = file.section_symbol(section);
        let relocation = Relocation {
            offset: *offset,
            symbol,
            addend: 0,
            flags: RelocationFlags::Elf {
                r_type: elf::R_BPF_64_64,
            },
        };
        file.add_relocation(code, relocation)
            .expect("a relocation without an addend");
    }
    file.write().expect("sections of less than 4 GB")
}
