//! The metadata of a code object, which is an image for AMD GPUs.
//!
//! Its notes `NT_AMDGPU_METADATA` hold a MessagePack map each: LLVM writes a single one, GCC one
//! for each linked file. Source: LLVM, "User Guide for AMDGPU Backend", code object metadata.

mod error;
mod flags;
pub mod program;

use object::Endianness;
use object::elf::NoteType;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use rmpv::Value;

pub use self::error::ReadError;
use crate::device_arch::AmdTarget;

/// The metadata of a code object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeObject {
    /// The target, from the metadata or else from the header; none if neither has it, as before
    /// version 4.
    pub target: Option<AmdTarget>,
    /// Its kernels.
    pub kernels: Vec<Kernel>,
}

/// A kernel and its resources. Sizes are in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// The symbol of its descriptor.
    pub symbol: String,
    /// The layout of its arguments' memory; none if the metadata lacks it, as GCC's does.
    pub args: Option<Vec<Arg>>,
    /// Size of that memory.
    pub kernarg_size: u32,
    /// Alignment of that memory.
    pub kernarg_align: u32,
    /// Maximum threads of a team.
    pub most_threads: u32,
    /// Vector registers of a lane.
    pub vgprs: u32,
    /// Spilled vector registers of a lane.
    pub spilled_vgprs: u32,
    /// Memory of each thread.
    pub private: u32,
    /// Whether it may take more, which the compiler cannot determine.
    pub has_dynamic_stack: bool,
    /// Memory of each team.
    pub group: u32,
}

/// An argument, or a property of the launch that the compiler needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    /// Its offset in the memory of arguments.
    pub offset: u32,
    /// Its size.
    pub size: u32,
    /// The kind of argument.
    pub kind: ArgKind,
}

/// The kind of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgKind {
    /// A parameter of the kernel.
    Parameter,
    /// A property of the launch, by its name without `hidden_`.
    Hidden(String),
}

impl Kernel {
    /// The parameters, in order.
    pub fn parameters(&self) -> impl Iterator<Item = &Arg> {
        let args = self.args.iter().flatten();
        args.filter(|arg| arg.kind == ArgKind::Parameter)
    }
}

/// Reads a code object.
///
/// # Errors
/// The bytes are not a code object, or its metadata is invalid.
pub fn read(bytes: &[u8]) -> Result<CodeObject, ReadError> {
    let file = ElfFile64::<Endianness>::parse(bytes);
    let file = file.map_err(|_| ReadError::NoMetadata)?;
    let notes = notes(&file, bytes).map_err(ReadError::Note)?;
    if notes.is_empty() {
        return Err(ReadError::NoMetadata);
    }
    let mut said = CodeObject::default();
    for note in notes {
        let root = rmpv::decode::read_value(&mut &*note).map_err(ReadError::MessagePack)?;
        if let Some(name) = text(&root, "amdhsa.target") {
            said.target = Some(target(name)?);
        }
        for map in list(&root, "amdhsa.kernels").unwrap_or_default() {
            said.kernels.push(kernel(map)?);
        }
    }
    let header = file.elf_header();
    let flags = header.e_flags(file.endian()).0;
    let by_flags = || flags::target(header.e_ident().abi_version, flags);
    said.target = said.target.or_else(by_flags);
    Ok(said)
}

fn target(name: &str) -> Result<AmdTarget, ReadError> {
    let (_, target) = name
        .rsplit_once("--")
        .ok_or_else(|| ReadError::NotAmd(name.to_owned()))?;
    Ok(target.parse()?)
}

fn kernel(map: &Value) -> Result<Kernel, ReadError> {
    let name = text(map, ".name").ok_or(ReadError::NoName)?;
    let number = |key| number(map, key);
    let kernel = Kernel {
        name: name.to_owned(),
        symbol: text(map, ".symbol").map_or_else(|| format!("{name}.kd"), str::to_owned),
        args: list(map, ".args").map(|args| args.iter().map(arg).collect()),
        kernarg_size: number(".kernarg_segment_size"),
        kernarg_align: number(".kernarg_segment_align"),
        most_threads: number(".max_flat_workgroup_size"),
        vgprs: number(".vgpr_count"),
        spilled_vgprs: number(".vgpr_spill_count"),
        private: number(".private_segment_fixed_size"),
        has_dynamic_stack: field(map, ".uses_dynamic_stack").and_then(Value::as_bool) == Some(true),
        group: number(".group_segment_fixed_size"),
    };
    // Checked here, so that code that writes arguments need not check.
    let is_outside = |arg: &&Arg| {
        let end = arg.offset.checked_add(arg.size);
        end.is_none_or(|end| end > kernel.kernarg_size)
    };
    match kernel.args.iter().flatten().find(is_outside) {
        Some(arg) => Err(ReadError::Arg {
            kernel: name.to_owned(),
            arg: arg.clone(),
            size: kernel.kernarg_size,
        }),
        None => Ok(kernel),
    }
}

fn arg(map: &Value) -> Arg {
    let kind = text(map, ".value_kind").and_then(|kind| kind.strip_prefix("hidden_"));
    Arg {
        offset: number(map, ".offset"),
        size: number(map, ".size"),
        kind: kind.map_or(ArgKind::Parameter, |name| ArgKind::Hidden(name.to_owned())),
    }
}

/// The number called `key`; 0 if it is missing, as the format defines.
fn number(map: &Value, key: &str) -> u32 {
    let number = field(map, key).and_then(Value::as_u64);
    number.map_or(0, |number| u32::try_from(number).unwrap_or(u32::MAX))
}

fn text<'v>(map: &'v Value, key: &str) -> Option<&'v str> {
    field(map, key).and_then(Value::as_str)
}

fn list<'v>(map: &'v Value, key: &str) -> Option<&'v [Value]> {
    let list = field(map, key).and_then(Value::as_array);
    list.map(Vec::as_slice)
}

fn field<'v>(map: &'v Value, key: &str) -> Option<&'v Value> {
    let mut fields = map.as_map()?.iter();
    let (_, value) = fields.find(|(name, _)| name.as_str() == Some(key))?;
    Some(value)
}

fn notes<'b>(file: &ElfFile64<'b, Endianness>, bytes: &'b [u8]) -> object::Result<Vec<&'b [u8]>> {
    const NT_AMDGPU_METADATA: NoteType = NoteType(32);
    let endian = file.endian();
    let mut found = Vec::new();
    for header in file.elf_program_headers() {
        let Some(mut notes) = header.notes(endian, bytes)? else {
            continue;
        };
        while let Some(note) = notes.next()? {
            if note.name() == b"AMDGPU" && note.n_type(endian) == NT_AMDGPU_METADATA {
                found.push(note.desc());
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use test_elf::{File, metadata_note};

    use super::*;

    /// A file with only these notes.
    fn with_notes(roots: &[Value]) -> Vec<u8> {
        let mut notes = Vec::new();
        for root in roots {
            let mut text = Vec::new();
            rmpv::encode::write_value(&mut text, root).expect("a vector takes all");
            notes.extend(metadata_note(&text));
        }
        let file = File {
            notes: &notes,
            ..File::code_object(4)
        };
        file.write()
    }

    fn map(fields: &[(&str, Value)]) -> Value {
        let fields = fields.iter().cloned();
        Value::Map(fields.map(|(name, value)| (name.into(), value)).collect())
    }

    fn object(size: u32) -> Value {
        let arg = |offset: u32, kind: &str| {
            map(&[
                (".offset", offset.into()),
                (".size", size.into()),
                (".value_kind", kind.into()),
            ])
        };
        let kernel = map(&[
            (".name", "scale".into()),
            (".symbol", "scale.kd".into()),
            (".kernarg_segment_size", 16.into()),
            (".uses_dynamic_stack", true.into()),
            (
                ".args",
                Value::Array(vec![arg(0, "global_buffer"), arg(8, "hidden_none")]),
            ),
        ]);
        map(&[
            ("amdhsa.target", "amdgcn-amd-amdhsa--gfx90a:xnack-".into()),
            ("amdhsa.kernels", Value::Array(vec![kernel])),
        ])
    }

    #[test]
    fn what_it_says_is_read() {
        let said = read(&with_notes(&[object(8)])).expect("a code object");
        assert_eq!(
            said.target.map(|t| t.to_string()).as_deref(),
            Some("gfx90a:xnack-")
        );
        let kernel = &said.kernels[0];
        assert_eq!((&*kernel.name, &*kernel.symbol), ("scale", "scale.kd"));
        assert!(kernel.has_dynamic_stack);
        assert_eq!(kernel.parameters().count(), 1);
        assert_eq!(
            kernel.args.as_ref().expect("a list")[1].kind,
            ArgKind::Hidden("none".to_owned())
        );
    }

    #[test]
    fn each_note_has_kernels() {
        // In GCC's form.
        let kernel = |name: &str, bytes: u32| {
            let kernel = map(&[
                (".name", name.into()),
                (".kernarg_segment_size", bytes.into()),
            ]);
            map(&[("amdhsa.kernels", Value::Array(vec![kernel]))])
        };
        let mut file = with_notes(&[kernel("_init_array", 0), kernel("main._omp_fn.0", 8)]);
        // The flags of its header.
        file[48..52].copy_from_slice(&0x22cu32.to_le_bytes());
        let said = read(&file).expect("a code object");
        let found: Vec<_> = said.kernels.iter().map(|k| (&*k.symbol, &k.args)).collect();
        assert_eq!(
            found,
            [("_init_array.kd", &None), ("main._omp_fn.0.kd", &None)]
        );
        assert_eq!(
            said.target.map(|target| target.to_string()).as_deref(),
            Some("gfx900:xnack-")
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let error = read(&with_notes(&[object(9)]))
            .expect_err("an argument is outside")
            .to_string();
        assert!(error.contains("`scale` has 9 bytes"), "{error}");
        let odd = map(&[("amdhsa.target", "spirv64".into())]);
        let error = read(&with_notes(&[odd]))
            .expect_err("no AMD GPU")
            .to_string();
        assert!(error.contains("`spirv64`"), "{error}");
        for bytes in [&b""[..], b"\x7fELF", &with_notes(&[Value::Nil])[..100]] {
            read(bytes).expect_err("no code object");
        }
        // The second note's contents would be missing.
        let mut file = with_notes(&[Value::Nil, object(8)]);
        let first = read(&file);
        first.expect("a code object");
        let first = file.windows(6).position(|bytes| bytes == b"AMDGPU");
        let second = first.expect("the owner") - 12 + 24;
        file[second + 4..second + 8].copy_from_slice(&u32::MAX.to_le_bytes());
        let error = read(&file).expect_err("a note is longer than the file");
        assert!(matches!(error, ReadError::Note(_)), "{error}");
        // An empty note is valid.
        let empty = read(&with_notes(&[Value::Nil])).expect("a code object");
        assert_eq!(empty, CodeObject::default());
    }
}
