//! A library file, and the offsets of the watched functions in it.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek};

use object::elf::FileHeader64;
use object::read::elf::ElfFile;
use object::{
    Architecture, Endianness, Object, ObjectSegment, ObjectSymbol, ReadCacheOps, ReadRef,
    SymbolKind,
};

use super::budget::Budget;
use super::function::{Library, SIGNATURES, Signature};

/// The architecture that this program is built for, as are the kernel's programs.
#[cfg(target_arch = "x86_64")]
const NATIVE: Architecture = Architecture::X86_64;
/// The architecture that this program is built for, as are the kernel's programs.
#[cfg(target_arch = "aarch64")]
const NATIVE: Architecture = Architecture::Aarch64;

/// Most symbols of a table: those of PyTorch have some 100,000.
const SYMBOL_LIMIT: usize = 1 << 21;

/// What a library has.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Contents {
    /// Functions, and the offset of each in the file.
    Functions(Vec<(&'static Signature, u64)>),
    /// It calls NCCL in another library.
    Imports,
    /// It has no symbols of the functions.
    Nameless,
}

impl PartialEq for Signature {
    fn eq(&self, other: &Self) -> bool {
        self.function == other.function
    }
}

impl Eq for Signature {}

/// Reads the symbol tables of a library.
///
/// # Errors
///
/// When the file cannot be read, is not a library for this architecture, or takes more to read than any
/// real one.
pub(super) fn read(file: impl Read + Seek) -> io::Result<Contents> {
    let budget = Budget::new(file);
    let contents = read_within(&budget);
    match budget.is_spent() {
        true => Err(invalid("its symbols are larger than those of any real library")),
        false => contents,
    }
}

fn read_within(budget: &Budget<impl ReadCacheOps>) -> io::Result<Contents> {
    let elf = ElfFile::<FileHeader64<Endianness>, _>::parse(budget).map_err(invalid)?;
    if elf.architecture() != NATIVE {
        return Err(invalid(format!("it is for {:?}", elf.architecture())));
    }
    let found = Symbols::from_elf(&elf)?;
    let functions = SIGNATURES.iter().filter_map(|signature| {
        let address = found.address(signature.symbol).or_else(|| {
            // NCCL's names are weak aliases of those for profilers.
            let is_nccl = signature.library == Library::Nccl;
            is_nccl.then(|| found.address(&format!("p{}", signature.symbol)))?
        })?;
        Some((signature, offset(&elf, address)?))
    });
    let functions: Vec<_> = functions.collect();
    Ok(match functions.is_empty() {
        false => Contents::Functions(functions),
        true if found.imports_nccl => Contents::Imports,
        true => Contents::Nameless,
    })
}

/// Addresses of symbols that may be watched functions.
struct Symbols {
    addresses: BTreeMap<String, u64>,
    imports_nccl: bool,
}

impl Symbols {
    /// From the dynamic linker's table, which every library keeps, else, for functions that are not
    /// exported, from the table that stripping removes.
    fn from_elf<'a, R: ReadRef<'a>>(
        elf: &ElfFile<'a, FileHeader64<Endianness>, R>,
    ) -> io::Result<Self> {
        let mut all = Self { addresses: BTreeMap::new(), imports_nccl: false };
        let sections = elf.elf_section_table();
        let versions = sections.versions(elf.endian(), elf.data()).map_err(invalid)?;
        for symbol in elf.dynamic_symbols().take(SYMBOL_LIMIT) {
            // Programs built today link to the default version of a function.
            let is_old = versions.as_ref().is_some_and(|versions| {
                versions.version_index(elf.endian(), symbol.index()).is_hidden()
            });
            if !is_old {
                all.add(&symbol);
            }
        }
        if all.addresses.is_empty() {
            elf.symbols().take(SYMBOL_LIMIT).for_each(|symbol| all.add(&symbol));
        }
        Ok(all)
    }

    fn add<'a>(&mut self, symbol: &impl ObjectSymbol<'a>) {
        let Ok(name) = symbol.name() else { return };
        let declared = name.strip_prefix('p').unwrap_or(name);
        let is_wanted = |signature: &Signature| signature.symbol == declared;
        if symbol.is_undefined() {
            self.imports_nccl |= declared.starts_with("nccl");
        } else if symbol.kind() == SymbolKind::Text && SIGNATURES.iter().any(is_wanted) {
            self.addresses.entry(name.to_owned()).or_insert_with(|| symbol.address());
        }
    }

    fn address(&self, name: &str) -> Option<u64> {
        self.addresses.get(name).copied()
    }
}

/// The offset in the file of an address in the loaded library.
fn offset<'a, R: ReadRef<'a>>(
    elf: &ElfFile<'a, FileHeader64<Endianness>, R>,
    address: u64,
) -> Option<u64> {
    elf.segments().find_map(|segment| {
        let inside = address.checked_sub(segment.address())?;
        let (at, len) = segment.file_range();
        (inside < len).then(|| at.checked_add(inside))?
    })
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn files_without_the_functions_are_recognised() {
        let manifest = File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
        assert!(read(&manifest).is_err());
        assert_eq!(read(&File::open("/bin/true").unwrap()).unwrap(), Contents::Nameless);
    }

    /// An ELF file with a `.dynsym` of this size, which is a hole.
    fn sparse(bytes: u64) -> File {
        let mut elf = std::fs::read("/bin/true").unwrap();
        let word = |elf: &[u8], at: usize| u64::from_le_bytes(elf[at..at + 8].try_into().unwrap());
        let (table, count) = (word(&elf, 0x28) as usize, usize::from(elf[0x3c]));
        // SHT_DYNSYM
        let section = (0..count).map(|at| table + at * 64);
        let dynsym = section.into_iter().find(|at| elf[at + 4] == 11).unwrap();
        let end = (elf.len() as u64).next_multiple_of(4096);
        elf[dynsym + 0x18..dynsym + 0x20].copy_from_slice(&end.to_le_bytes());
        elf[dynsym + 0x20..dynsym + 0x28].copy_from_slice(&bytes.to_le_bytes());
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&elf).unwrap();
        file.set_len(end + bytes).unwrap();
        file
    }

    #[test]
    fn a_table_of_gigabytes_costs_nothing() {
        for gigabytes in [1, 4, 64] {
            let error = read(&sparse(gigabytes << 30)).unwrap_err();
            assert!(error.to_string().contains("larger than"), "{error}");
        }
        // Within the limits it is read, however empty.
        assert_eq!(read(&sparse(24 << 16)).unwrap(), Contents::Nameless);
    }

    proptest! {
        #[test]
        fn any_file_is_read(changes in prop::collection::vec((any::<u16>(), any::<u8>()), 1..40)) {
            let mut bytes = std::fs::read("/bin/true").unwrap();
            let len = bytes.len();
            for (at, value) in changes {
                // Half of them in the headers.
                let at = if value % 2 == 0 { usize::from(at) % 1024 } else { usize::from(at) };
                bytes[at % len] = value;
            }
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            _ = read(&file);
        }
    }
}
