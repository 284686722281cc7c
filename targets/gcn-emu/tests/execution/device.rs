//! A GPU for tests: kernels are assembled by LLVM 22, and memory is an arena.

use std::num::NonZero;
use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};

use bus_cost::CountCosts;
use device_arena::{AccessKind, CheckedArena, Fill};
use gcn_emu::{
    AddressSpace, Arch, CodeRegion, DESCRIPTOR_BYTES, Descriptor, Dispatch, Fault, Ignored,
    LaunchError, Machine, Options, Weak,
};
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol};

/// Memory of the device and of the host.
struct Memory {
    arena: CheckedArena,
    /// The host's. The emulator asks for it at each access, and a benchmark measures that.
    mapped: OnceLock<Range<u64>>,
}

// SAFETY: the arena stays mapped as long as it lives, begins at a multiple of a page, and is accessed atomically.
unsafe impl AddressSpace for Memory {
    fn resolve(&self, address: u64, bytes: u64, kind: AccessKind) -> Option<NonNull<u8>> {
        self.arena.resolve(address, bytes, kind)
    }

    fn is_of_host(&self, address: u64) -> bool {
        let mapped = self.mapped.get();
        mapped.is_some_and(|range| range.contains(&address))
    }

    fn describe(&self, _: u64) -> Option<String> {
        None
    }
}

/// A GPU.
pub(crate) struct Device {
    memory: Arc<Memory>,
    machine: Machine,
}

/// A loaded kernel.
pub(crate) struct Kernel {
    descriptor: u64,
    content: Descriptor,
    _code: CodeRegion,
}

impl Kernel {
    /// Its descriptor.
    pub(crate) fn descriptor(&self) -> &Descriptor {
        &self.content
    }
}

/// The size of a launch.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) grid: u32,
    pub(crate) workgroup: u32,
    pub(crate) private_bytes: u32,
    pub(crate) group_bytes: u32,
}

impl Shape {
    /// One workgroup of so many lanes.
    pub(crate) fn lanes(lanes: u32) -> Self {
        Self {
            grid: lanes,
            workgroup: lanes,
            private_bytes: 0,
            group_bytes: 0,
        }
    }
}

/// LLVM's compiler and linker.
pub(crate) struct Tools {
    pub(crate) clang: PathBuf,
    lld: PathBuf,
}

impl Tools {
    /// Those of this machine, if it has them.
    pub(crate) fn find() -> Option<&'static Self> {
        static FOUND: OnceLock<Option<Tools>> = OnceLock::new();
        let found = FOUND.get_or_init(|| {
            let find = |places: [&str; 2]| {
                places.into_iter().map(PathBuf::from).find(|place| {
                    let version = Command::new(place).arg("--version").output();
                    version.is_ok_and(|output| output.status.success())
                })
            };
            Some(Self {
                clang: find(["/usr/lib/llvm-22/bin/clang", "clang-22"])?,
                lld: find(["/usr/lib/llvm-22/bin/ld.lld", "ld.lld-22"])?,
            })
        });
        if found.is_none() {
            // The output of a test that passes is not seen.
            assert!(std::env::var_os("CI").is_none(), "CI has LLVM 22");
            println!("SKIPPED execution of kernels: no clang or lld of LLVM 22 (clang-22, lld-22)");
        }
        found.as_ref()
    }
}

/// Runs a tool, which succeeds.
fn succeed(command: &mut Command) {
    let output = command.output().expect("it was found before");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
}

/// The linked code object of a source in C or assembly; none if there is no compiler.
pub(crate) fn compile(
    arch: Arch,
    extension: &str,
    source: &str,
    flags: &[&str],
) -> Option<Vec<u8>> {
    let tools = Tools::find()?;
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("kernel").with_extension(extension);
    let object = folder.path().join("kernel.o");
    let output = folder.path().join("kernel.hsaco");
    std::fs::write(&input, source).expect("a temporary file");
    // If clang also links, it compiles in a second process, which takes a third of the tests' time.
    succeed(
        Command::new(&tools.clang)
            .args(["--target=amdgcn-amd-amdhsa", "-nogpulib", "-O2", "-c"])
            .arg(format!("-mcpu={arch}"))
            .args(flags)
            .arg(&input)
            .arg("-o")
            .arg(&object),
    );
    succeed(
        Command::new(&tools.lld)
            .args(["-shared", "--no-undefined", "-o"])
            .args([&output, &object]),
    );
    let bytes = std::fs::read(&output).expect("the linker wrote it");
    Some(bytes)
}

impl Device {
    pub(crate) fn new(arch: Arch) -> Self {
        Self::with(Options {
            arch,
            ..Options::default()
        })
    }

    /// A GPU in weak memory mode.
    pub(crate) fn weak(arch: Arch, seed: u64, ignored: Option<Ignored>) -> Self {
        let seed = NonZero::new(seed).expect("seeds are from 1 on");
        Self::with(Options {
            arch,
            weak: Some(Weak { seed, ignored }),
            ..Options::default()
        })
    }

    /// A GPU that checks for races.
    pub(crate) fn checking(arch: Arch) -> Self {
        Self::with(Options {
            arch,
            check: true,
            ..Options::default()
        })
    }

    /// A GPU that counts what kernels do on the bus.
    pub(crate) fn counting(arch: Arch, costs: CountCosts) -> Self {
        Self::with(Options {
            arch,
            costs: Some(costs),
            ..Options::default()
        })
    }

    fn with(options: Options) -> Self {
        let arena = CheckedArena::new(1 << 30, Some(0x4000_0000_0000)).expect("addresses");
        let memory = Arc::new(Memory {
            arena,
            mapped: OnceLock::new(),
        });
        let options = Options {
            processors: 1,
            patience: std::time::Duration::from_millis(200),
            ..options
        };
        Self {
            machine: Machine::new(options, Arc::clone(&memory) as _),
            memory,
        }
    }

    /// Allocates memory with this content.
    pub(crate) fn memory(&self, words: &[u32]) -> u64 {
        let bytes = 4 * words.len() as u64;
        let address = self.memory.arena.alloc(bytes, Fill::Zeros).expect("room");
        for (at, word) in words.iter().enumerate() {
            self.write(address + 4 * at as u64, &word.to_le_bytes());
        }
        address
    }

    /// Allocates words of the host's memory, which are 0. Once.
    pub(crate) fn mapped(&self, words: usize) -> u64 {
        let address = self.memory(&vec![0; words]);
        let range = address..address + 4 * words as u64;
        self.memory.mapped.set(range).expect("the first call");
        address
    }

    /// A word of the host's memory.
    pub(crate) fn word(&self, address: u64) -> &AtomicU32 {
        let at = self.memory.arena.host(address).expect("memory");
        // SAFETY: an aligned word of a block that is not freed before the device. All accesses are atomic.
        unsafe { AtomicU32::from_ptr(at.cast()) }
    }

    fn write(&self, address: u64, bytes: &[u8]) {
        let to = self.memory.arena.host(address).expect("device memory");
        // SAFETY: inside a block that the test allocated, which no kernel uses now.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }

    /// Words of memory.
    pub(crate) fn read(&self, address: u64, count: usize) -> Vec<u32> {
        let from = self.memory.arena.host(address).expect("device memory");
        // SAFETY: as for `write`.
        let words = (0..count).map(|at| unsafe { from.cast::<u32>().add(at).read() });
        words.collect()
    }

    /// Loads a code object.
    pub(crate) fn load(&self, object: &[u8], kernel: &str) -> Kernel {
        let file = ElfFile64::<Endianness>::parse(object).expect("an ELF file");
        let endian = file.endian();
        let segments = file.elf_program_headers().iter();
        let segments: Vec<_> = segments
            .filter(|segment| segment.p_type(endian) == object::elf::PT_LOAD)
            .collect();
        let end = segments
            .iter()
            .map(|segment| segment.p_vaddr(endian) + segment.p_memsz(endian));
        let size = end.max().expect("segments");
        let base = self.memory.arena.alloc(size, Fill::Zeros).expect("room");
        let mut code = None;
        for segment in segments {
            let bytes = segment.data(endian, object).expect("data");
            let address = base + segment.p_vaddr(endian);
            self.write(address, bytes);
            if segment.p_flags(endian).0 & object::elf::PF_X.0 != 0 {
                let functions = file.symbols().filter_map(|symbol| {
                    let offset = symbol.address().checked_sub(segment.p_vaddr(endian))?;
                    let name = symbol.name().ok()?;
                    (symbol.kind() == object::SymbolKind::Text).then(|| (offset, name.to_owned()))
                });
                code = Some(self.machine.add_code(address, bytes, functions.collect()));
            }
        }
        // Of this kind alone: the begin of the file in memory is added.
        const RELATIVE64: u32 = 13;
        for (offset, relocation) in file.dynamic_relocations().into_iter().flatten() {
            let object::RelocationFlags::Elf { r_type } = relocation.flags() else {
                panic!("an ELF file has those of ELF");
            };
            assert_eq!(r_type.0, RELATIVE64, "relocations of these kernels");
            let address = base.wrapping_add_signed(relocation.addend());
            self.write(base + offset, &address.to_le_bytes());
        }
        let name = format!("{kernel}.kd");
        let symbol = file.symbols().find(|symbol| symbol.name() == Ok(&name));
        let descriptor = base + symbol.expect("a descriptor").address();
        let words = self.read(descriptor, DESCRIPTOR_BYTES / 4);
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        let bytes = bytes.as_array().expect("as many bytes");
        Kernel {
            content: Descriptor::read(bytes),
            descriptor,
            _code: code.expect("code"),
        }
    }

    /// Runs a kernel with arguments of 64 bits.
    pub(crate) fn run(
        &self,
        kernel: &Kernel,
        shape: Shape,
        arguments: &[u64],
    ) -> Result<u64, Box<Fault>> {
        let running = self
            .start(kernel, shape, arguments)
            .expect("a valid launch");
        let result = running.wait(None).expect("it has ended");
        result.map_err(Box::new)?;
        Ok(running.instructions())
    }

    /// Starts a kernel with arguments of 64 bits.
    pub(crate) fn start(
        &self,
        kernel: &Kernel,
        shape: Shape,
        arguments: &[u64],
    ) -> Result<gcn_emu::Running, LaunchError> {
        let mut words: Vec<u32> = arguments
            .iter()
            .flat_map(|&argument| [argument as u32, (argument >> 32) as u32])
            .collect();
        words.resize(words.len().max(64), 0);
        // Code reads the sizes there.
        let mut packet = [0; 16];
        packet[1] = 1 << 16 | shape.workgroup;
        packet[2] = 1;
        packet[3..6].copy_from_slice(&[shape.grid, 1, 1]);
        let dispatch = Dispatch {
            kernel: "test".to_owned(),
            descriptor: kernel.descriptor,
            grid: [shape.grid, 1, 1],
            workgroup: [shape.workgroup, 1, 1],
            kernarg: self.memory(&words),
            packet: self.memory(&packet),
            queue: self.memory(&[0; 64]),
            dispatch_id: 0,
            private_bytes: shape.private_bytes,
            group_bytes: shape.group_bytes,
        };
        self.machine.start(dispatch, Box::new(|_| {}))
    }
}
