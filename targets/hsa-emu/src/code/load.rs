//! A code object in the memory of a GPU.

use std::sync::{Arc, PoisonError};

use device_arena::{ALIGN, Fill};
use emu_driver::process::handle;
use gcn_emu::{CodeRegion, Descriptor};
use hsa_runtime_sys::HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED;
use targets::code_object::program::{DESCRIPTOR, Program, SymbolKind};

use super::{CodeObject, Symbol, SymbolTarget};
use crate::gpu::{Gpu, Kernel};
use crate::memory::{BlockKind, Gpus, PAGE};
use crate::status::{Answer, Status};

/// Maximum bytes of a loaded code object, more than compilers generate.
const MAX_BYTES: u64 = 4 << 30;

/// The suffix of a descriptor's symbol.
const DESCRIPTOR_SUFFIX: &str = ".kd";

/// A code object in the memory of a GPU.
pub(crate) struct Loaded {
    pub(crate) handle: u64,
    pub(crate) gpu: Arc<Gpu>,
    pub(crate) code: CodeObject,
    /// The address of its memory, and bytes of it.
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    /// The difference between addresses there and in the file.
    pub(crate) delta: u64,
    /// Addresses and bytes of its segments there.
    pub(crate) segments: Vec<(u64, u64)>,
    /// Kernels, which can be launched once the executable is frozen.
    kernels: Vec<Arc<Kernel>>,
    regions: Vec<CodeRegion>,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        self.regions.clear();
        let kernels = self.gpu.kernels.write();
        let mut kernels = kernels.unwrap_or_else(PoisonError::into_inner);
        for kernel in &self.kernels {
            kernels.remove(&kernel.object);
        }
        drop(kernels);
        if let Some(block) = self.gpu.memory.block_at(self.address) {
            self.gpu.machine.forget(block.address, block.bytes);
        }
        // `free_all` may have freed it.
        let _ = self.gpu.memory.free(self.address, BlockKind::Code);
    }
}

/// Loads a code object on a GPU. `defined` has the addresses of variables that the program defines.
pub(super) fn load(
    gpu: &Arc<Gpu>,
    code: &CodeObject,
    defined: impl Fn(&str) -> Option<u64>,
) -> Answer<(Loaded, Vec<Symbol>)> {
    let refused = |status: Status, reason: &str| {
        let product = gpu.product();
        (gpu.report)(&format!(
            "a code object does not load on {product}: {reason}"
        ));
        status
    };
    let program = Program::read(&code.bytes);
    let program =
        program.map_err(|error| refused(Status::INVALID_CODE_OBJECT, &error.to_string()))?;
    if program.target.runs_on(&gpu.target).is_none() {
        let reason = format!(
            "it is for {}, and the GPU is {}",
            program.target, gpu.target
        );
        return Err(refused(Status::INCOMPATIBLE_ARGUMENTS, &reason));
    }
    let (first, bytes) = program.span();
    // Addresses keep their offsets in a page.
    let start = first & !(PAGE - 1);
    let bytes = bytes.saturating_add(first - start);
    if bytes > MAX_BYTES {
        let reason = format!("it takes {bytes} bytes, and {MAX_BYTES} are possible");
        return Err(refused(Status::INVALID_CODE_OBJECT, &reason));
    }
    let address = gpu.memory.alloc_filled(
        gpu.owner(),
        bytes,
        BlockKind::Code,
        HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED,
        Gpus::one(gpu.slot),
        Fill::Zeros,
    )?;
    let mut loaded = Loaded {
        handle: handle(),
        gpu: Arc::clone(gpu),
        code: code.clone(),
        address,
        bytes,
        delta: address.wrapping_sub(start),
        segments: Vec::new(),
        kernels: Vec::new(),
        regions: Vec::new(),
    };
    let written = loaded.write(&program, defined);
    written.map_err(|error| match error {
        Undefined::Variable(name) => refused(
            Status::VARIABLE_UNDEFINED,
            &format!("`{name}` is not defined"),
        ),
        Undefined::Memory => refused(Status::OUT_OF_RESOURCES, "its memory is gone"),
    })?;
    let symbols = loaded.symbols(&program).map_err(|NoDescriptor(name)| {
        let reason = format!("kernel `{name}` has no descriptor in the file");
        refused(Status::INVALID_CODE_OBJECT, &reason)
    })?;
    Ok((loaded, symbols))
}

/// Error: the named kernel has no descriptor in the file.
struct NoDescriptor(String);

/// Error: a definition or memory is missing.
enum Undefined {
    /// The named variable is not defined.
    Variable(String),
    /// Memory is exhausted.
    Memory,
}

impl Loaded {
    /// Address in memory of an address in the file.
    fn address_of(&self, address: u64) -> u64 {
        address.wrapping_add(self.delta)
    }

    /// Writes bytes to its memory.
    fn put(&self, address: u64, bytes: &[u8]) -> Result<(), Undefined> {
        let from = bytes.as_ptr().expose_provenance() as u64;
        // SAFETY: the source is a slice, which nothing changes.
        let put = unsafe { self.gpu.memory.copy(address, from, bytes.len()) };
        put.map_err(|_| Undefined::Memory)
    }

    /// Writes the segments with relocated values, and adds the code.
    fn write(
        &mut self,
        program: &Program<'_>,
        defined: impl Fn(&str) -> Option<u64>,
    ) -> Result<(), Undefined> {
        for segment in &program.segments {
            let address = self.address_of(segment.address);
            self.put(address, segment.bytes)?;
            self.segments.push((address, segment.size));
        }
        for relocation in &program.relocations {
            let symbol = &program.symbols.get(relocation.symbol);
            let target = match symbol.filter(|_| relocation.symbol != 0) {
                None => 0,
                Some(symbol) if symbol.is_defined => self.address_of(symbol.address),
                Some(symbol) => match defined(symbol.name) {
                    Some(address) => address,
                    None if symbol.is_weak => 0,
                    None => return Err(Undefined::Variable(symbol.name.to_owned())),
                },
            };
            let value = relocation.value(self.delta, target).to_le_bytes();
            let value = &value[..relocation.kind.size() as usize];
            self.put(self.address_of(relocation.address), value)?;
        }
        for (at, segment) in program.segments.iter().enumerate() {
            let (address, size) = self.segments[at];
            if segment.is_executable {
                let functions = program.functions.iter().filter_map(|&(at, name)| {
                    let offset = at.checked_sub(segment.address)?;
                    (offset < size).then(|| (offset, name.to_owned()))
                });
                self.add_code(address, segment.bytes.len(), functions.collect())?;
            }
            if !segment.is_writable {
                self.make_read_only(at);
            }
        }
        Ok(())
    }

    /// Makes a segment one that kernels can only read, but for steps that it shares with others.
    fn make_read_only(&self, at: usize) {
        let (address, size) = self.segments[at];
        let before = at.checked_sub(1).and_then(|at| self.segments.get(at));
        let start = address & !(ALIGN - 1);
        let start = match before {
            Some(&(before, size)) if before + size > start => start + ALIGN,
            _ => start.max(self.address),
        };
        let end = address + size;
        let end = match self.segments.get(at + 1) {
            Some(&(next, _)) if next < end.next_multiple_of(ALIGN) => end & !(ALIGN - 1),
            _ => end,
        };
        if start < end {
            self.gpu.memory.make_read_only(start, end - start);
        }
    }

    /// Makes relocated bytes code.
    fn add_code(
        &mut self,
        address: u64,
        len: usize,
        functions: Vec<(u64, String)>,
    ) -> Result<(), Undefined> {
        let mut bytes = vec![0; len];
        let to = bytes.as_mut_ptr().expose_provenance() as u64;
        // SAFETY: the target is a vector of this length, which nothing else uses.
        let read = unsafe { self.gpu.memory.copy(to, address, len) };
        read.map_err(|_| Undefined::Memory)?;
        let region = self.gpu.machine.add_code(address, &bytes, functions);
        self.regions.push(region);
        Ok(())
    }

    /// Its symbols.
    fn symbols(&mut self, program: &Program<'_>) -> Result<Vec<Symbol>, NoDescriptor> {
        let mut symbols = Vec::new();
        let exported = |symbol: &&_| exported(symbol);
        for symbol in program.symbols.iter().filter(exported) {
            let address = self.address_of(symbol.address);
            let target = match symbol.kind {
                SymbolKind::Kernel => {
                    let name = symbol.name.strip_suffix(DESCRIPTOR_SUFFIX);
                    let name = name.unwrap_or(symbol.name).to_owned();
                    let Some(bytes) = program.descriptor(symbol.address) else {
                        return Err(NoDescriptor(name));
                    };
                    let kernel = Arc::new(Kernel {
                        name,
                        object: address,
                        descriptor: Descriptor::read(bytes),
                    });
                    self.kernels.push(Arc::clone(&kernel));
                    SymbolTarget::Kernel {
                        kernel,
                        has_dynamic_stack: has_dynamic_stack(bytes),
                    }
                }
                SymbolKind::Variable => SymbolTarget::Variable {
                    address,
                    bytes: symbol.size,
                    is_constant: program
                        .segment(symbol.address, symbol.size)
                        .is_some_and(|segment| !segment.is_writable),
                },
                SymbolKind::Function | SymbolKind::Other => continue,
            };
            symbols.push(Symbol {
                handle: handle(),
                name: symbol.name.to_owned(),
                agent: self.gpu.agent(),
                target,
            });
        }
        Ok(symbols)
    }

    /// Allows packets to launch its kernels.
    pub(super) fn freeze(&self) {
        let kernels = self.gpu.kernels.write();
        let mut kernels = kernels.unwrap_or_else(PoisonError::into_inner);
        for kernel in &self.kernels {
            kernels.insert(kernel.object, Arc::clone(kernel));
        }
    }
}

fn exported(symbol: &targets::code_object::program::Symbol<'_>) -> bool {
    symbol.is_defined && !symbol.is_local
}

/// Whether work-items of a kernel may take more memory than the compiler knows.
fn has_dynamic_stack(descriptor: &[u8; DESCRIPTOR]) -> bool {
    /// The offset of the properties' second byte, and the flag's bit there.
    const PROPERTIES: usize = 57;
    const FLAG: u8 = 1 << 3;
    descriptor[PROPERTIES] & FLAG != 0
}
