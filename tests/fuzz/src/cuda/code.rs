//! Calls for modules, libraries, kernels and the linker.

use std::ffi::{CString, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::LazyLock;

use test_fatbin::Stored;

use super::driver::cu;
use super::kernels;
use super::perform::Call;
use super::sequence::{Kind, MEMORY, Sequence};
use crate::input::Operands;
use crate::objects::part;

/// Bytes of a fatbin's header, which say how long it is: no mutation may change them, since no function is told how
/// much memory there is.
const HEADER: usize = 16;

static TEXT: LazyLock<Vec<u8>> = LazyLock::new(|| [kernels::TEXT.as_bytes(), b"\0"].concat());

static FATBIN: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let image = test_fatbin::Image {
        kind: 1,
        arch: 60,
        version: (7, 0),
        flags: 0x11,
        identifier: b"it.cu",
        options: None,
        bytes: &TEXT,
        stored: Stored::Plain,
    };
    test_fatbin::write(&[image.entry()])
});

const GRIDS: [[u32; 3]; 8] = [
    [1, 1, 1],
    [2, 1, 1],
    [1, 2, 2],
    [3, 1, 1],
    [0, 1, 1],
    [u32::MAX, 1, 1],
    [1, 65536, 1],
    [1, 1, 0],
];

const BLOCKS: [[u32; 3]; 10] = [
    [1, 1, 1],
    [32, 1, 1],
    [64, 1, 1],
    [7, 3, 1],
    [128, 1, 1],
    [1024, 1, 1],
    [1025, 1, 1],
    [0, 1, 1],
    [u32::MAX; 3],
    [1, 1, 65],
];

const SHARED: [u32; 8] = [0, 0, 0, 16, 4096, 49152, 1 << 18, u32::MAX];

/// An image: what a program gives to the driver.
enum Image {
    None,
    Bytes(Vec<u8>),
    /// One that the linker has made.
    Linked(u64),
}

impl Image {
    fn pointer(&self) -> *const c_void {
        match self {
            Self::None => null(),
            Self::Bytes(bytes) => bytes.as_ptr().cast(),
            Self::Linked(at) => std::ptr::with_exposed_provenance(*at as usize),
        }
    }
}

impl Sequence<'_> {
    pub(super) fn use_code(&mut self, call: Call, operands: &mut Operands<'_>) -> u32 {
        match call {
            Call::LoadModule => self.load_module(operands),
            Call::UnloadModule => {
                let module = self.pick_own(&[Kind::Module], operands);
                let code = cu!(cuModuleUnload(module => u64));
                self.ended(code, module)
            }
            Call::GetFunction => {
                let module = self.pick(&[Kind::Module], operands).value;
                let name = name(operands);
                self.make(Kind::Function, 0, operands, |out| {
                    cu!(cuModuleGetFunction(out => *mut u64, module => u64, name => *const c_char))
                })
            }
            Call::GetGlobal => {
                let module = self.pick(&[Kind::Module], operands).value;
                let name = match operands.is_rare(32) {
                    true => name(operands),
                    false => c"counter".as_ptr(),
                };
                let (mut address, mut bytes) = (0u64, 0u64);
                let code = cu!(cuModuleGetGlobal_v2(
                    &raw mut address => *mut u64, &raw mut bytes => *mut u64, module => u64,
                    name => *const c_char
                ));
                if code == 0 {
                    self.objects
                        .add(Kind::Global, address, Self::current(), bytes);
                }
                code
            }
            Call::DescribeFunction => self.describe_function(operands),
            Call::Launch | Call::LaunchEx => self.launch(call, operands),
            Call::LoadLibrary => {
                let image = self.image(operands);
                let nothing: *const u32 = null();
                let none: *mut *mut c_void = null_mut();
                self.make(Kind::Library, 0, operands, |out| {
                    cu!(cuLibraryLoadData(
                        out => *mut u64, image.pointer() => *const c_void,
                        nothing => *const u32, none => *mut *mut c_void, 0 => u32,
                        nothing => *const u32, none => *mut *mut c_void, 0 => u32
                    ))
                })
            }
            Call::UnloadLibrary => {
                let library = self.pick_any(&[Kind::Library], operands);
                let code = cu!(cuLibraryUnload(library => u64));
                self.ended(code, library)
            }
            Call::GetKernel => {
                let library = self.pick_any(&[Kind::Library], operands);
                let name = name(operands);
                self.make(Kind::Kernel, 0, operands, |out| {
                    cu!(cuLibraryGetKernel(out => *mut u64, library => u64, name => *const c_char))
                })
            }
            Call::Occupancy => self.occupancy(operands),
            _ => self.link(call, operands),
        }
    }

    /// An image that is valid, or has a byte changed, or is none.
    fn image(&self, operands: &mut Operands<'_>) -> Image {
        let choice = operands.byte();
        let (at, byte) = (usize::from(operands.byte()), operands.byte());
        let changed = |bytes: &[u8], from: usize, end: usize| {
            let mut bytes = bytes.to_vec();
            let at = from + at * (end - from) / 256;
            // No zero, which would end a text and be no fault.
            bytes[at] = byte.max(1);
            Image::Bytes(bytes)
        };
        match choice {
            0..96 => Image::Bytes(TEXT.clone()),
            96..128 => Image::Bytes(FATBIN.clone()),
            128..176 => changed(&TEXT, 0, TEXT.len() - 1),
            176..208 => changed(&FATBIN, HEADER, FATBIN.len()),
            208..224 => {
                let mut linkers = self.objects.live_of(&[Kind::Linker]);
                let linked = self
                    .linked
                    .filter(|&(of, _)| linkers.any(|linker| linker.value == of));
                linked.map_or(Image::None, |(_, image)| Image::Linked(image))
            }
            224..232 => Image::Bytes(vec![byte, 0]),
            232..240 => Image::Bytes(b"\x7fELF\0".to_vec()),
            _ => Image::None,
        }
    }

    fn load_module(&mut self, operands: &mut Operands<'_>) -> u32 {
        let image = self.image(operands);
        let variant = operands.byte();
        self.make(Kind::Module, 0, operands, |out| match variant % 3 {
            0 => cu!(cuModuleLoadData(out => *mut u64, image.pointer() => *const c_void)),
            1 => cu!(cuModuleLoadFatBinary(out => *mut u64, image.pointer() => *const c_void)),
            _ => {
                // A log of errors that is too small.
                let mut log = [0u8; 8];
                let options = [5u32, 6];
                let mut values: [*mut c_void; 2] = [
                    log.as_mut_ptr().cast(),
                    std::ptr::without_provenance_mut(log.len()),
                ];
                cu!(cuModuleLoadDataEx(
                    out => *mut u64, image.pointer() => *const c_void, 2 => u32,
                    options.as_ptr() => *const u32, values.as_mut_ptr() => *mut *mut c_void
                ))
            }
        })
    }

    fn function(&self, operands: &mut Operands<'_>) -> u64 {
        let choice = operands.byte();
        let kinds = [Kind::Function, Kind::Kernel];
        self.objects.pick(&kinds, None, choice).value
    }

    fn describe_function(&self, operands: &mut Operands<'_>) -> u32 {
        let function = self.function(operands);
        let which = operands.byte();
        let attribute = u32::from(operands.byte() % 20);
        let value = operands.of(&[0, 1, 1024, 1 << 17, 1 << 20, i32::MAX, -1]);
        let mut room = [0u64; 2];
        let out = if operands.is_rare(16) {
            null_mut()
        } else {
            room.as_mut_ptr()
        };
        match which % 8 {
            0 => cu!(cuFuncGetAttribute(out.cast() => *mut i32, attribute => u32, function => u64)),
            1 => cu!(cuFuncSetAttribute(function => u64, attribute => u32, value => i32)),
            2 => cu!(cuFuncGetParamInfo(
                function => u64, attribute as usize => usize, out => *mut u64, null_mut() => *mut u64
            )),
            3 => cu!(cuFuncGetName(out.cast() => *mut *const c_char, function => u64)),
            4 => cu!(cuFuncGetModule(out => *mut u64, function => u64)),
            5 => cu!(cuFuncIsLoaded(out.cast() => *mut u32, function => u64)),
            6 => cu!(cuKernelGetFunction(out => *mut u64, function => u64)),
            _ => {
                cu!(cuKernelSetAttribute(attribute => u32, value => i32, function => u64, 0 => i32))
            }
        }
    }

    fn occupancy(&self, operands: &mut Operands<'_>) -> u32 {
        let function = self.function(operands);
        let block = operands.of(&[1, 32, 64, 100, 1024, 1025, 0, -1, i32::MAX]);
        let shared = operands.of(&[0, 16, 1 << 17, 1 << 40, usize::MAX]);
        let mut out = [0i32; 2];
        let out = if operands.is_rare(16) {
            null_mut()
        } else {
            out.as_mut_ptr()
        };
        match operands.byte() % 3 {
            0 => cu!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
                out => *mut i32, function => u64, block => i32, shared => usize
            )),
            1 => cu!(cuOccupancyMaxPotentialBlockSize(
                out => *mut i32, out.wrapping_add(usize::from(!out.is_null())) => *mut i32,
                function => u64, null() => *const c_void, shared => usize, block => i32
            )),
            _ => cu!(cuOccupancyAvailableDynamicSMemPerBlock(
                out.cast() => *mut u64, function => u64, block => i32, block => i32
            )),
        }
    }

    fn launch(&self, call: Call, operands: &mut Operands<'_>) -> u32 {
        let function = self.function(operands);
        let memory = self.pick(&MEMORY, operands);
        let (x, b) = (operands.of(&GRIDS), operands.of(&BLOCKS));
        let shared = operands.byte();
        let (dynamic, address) = (
            SHARED[usize::from(shared) % SHARED.len()],
            part(&memory, shared, 0).0,
        );
        let mode = operands.byte();
        let stream = self.stream(operands);
        // Each parameter is the address; in a buffer they have the same places.
        let value = address;
        let at = (&raw const value).cast::<c_void>();
        let each = [at; 4];
        let without = [at, null(), null(), null()];
        let buffer = [address; 4];
        let room: usize = match mode {
            200..208 => 4,
            _ => size_of_val(&buffer),
        };
        let name = std::ptr::without_provenance;
        let mut extra: [*const c_void; 5] = [
            name(1),
            buffer.as_ptr().cast(),
            name(2),
            (&raw const room).cast(),
            null(),
        ];
        match mode {
            208..216 => extra[1] = null(),
            216..220 => extra[3] = null(),
            220..224 => extra[0] = name(7),
            _ => {}
        }
        let (each, extra) = match mode {
            0..160 => (each.as_ptr(), null()),
            160..224 => (null(), extra.as_ptr()),
            224..232 => (each.as_ptr(), extra.as_ptr()),
            232..240 => (without.as_ptr(), null()),
            _ => (null(), null()),
        };
        type List = *const *const c_void;
        if call == Call::Launch {
            return if mode % 8 == 7 {
                cu!(cuLaunchCooperativeKernel(
                    function => u64,
                    x[0] => u32, x[1] => u32, x[2] => u32, b[0] => u32, b[1] => u32, b[2] => u32,
                    dynamic => u32, stream => u64, each => List
                ))
            } else {
                cu!(cuLaunchKernel(
                    function => u64,
                    x[0] => u32, x[1] => u32, x[2] => u32, b[0] => u32, b[1] => u32, b[2] => u32,
                    dynamic => u32, stream => u64, each => List, extra => List
                ))
            };
        }
        // A cooperative launch (2), or clusters (4) of as many blocks.
        let attributes: [[u64; 9]; 2] = [
            [2, 1, 0, 0, 0, 0, 0, 0, 0],
            [4, 1 | 1 << 32, 1, 0, 0, 0, 0, 0, 0],
        ];
        let attributes = if mode % 4 == 3 {
            null()
        } else {
            attributes.as_ptr()
        };
        let half = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let config = [
            half(x[0], x[1]),
            half(x[2], b[0]),
            half(b[1], b[2]),
            half(dynamic, 0),
            stream,
            attributes.expose_provenance() as u64,
            u64::from(mode % 3),
        ];
        let config = if mode % 16 == 15 {
            null()
        } else {
            config.as_ptr()
        };
        cu!(cuLaunchKernelEx(config => *const u64, function => u64, each => List, extra => List))
    }

    fn link(&mut self, call: Call, operands: &mut Operands<'_>) -> u32 {
        if call == Call::CreateLinker {
            return self.make(Kind::Linker, 0, operands, |out| {
                cu!(cuLinkCreate_v2(
                    0 => u32, null() => *const u32, null_mut() => *mut *mut c_void, out => *mut u64
                ))
            });
        }
        let linker = self.pick(&[Kind::Linker], operands).value;
        match call {
            Call::AddToLinker => {
                let image = self.image(operands);
                let kind = operands.of(&[1, 1, 2, 0, 3, 77]);
                let (at, len) = match &image {
                    Image::Bytes(bytes) => (bytes.as_ptr(), bytes.len()),
                    // Its length is not told to programs that look for it here.
                    Image::Linked(_) | Image::None => (null(), 8),
                };
                let name = if operands.is_rare(64) {
                    null()
                } else {
                    c"part".as_ptr()
                };
                cu!(cuLinkAddData_v2(
                    linker => u64, kind => u32, at => *const u8, len => usize, name => *const c_char,
                    0 => u32, null() => *const u32, null_mut() => *mut *mut c_void
                ))
            }
            Call::CompleteLinker => {
                let (mut image, mut size) = (0u64, 0u64);
                let is_null = operands.is_rare(16);
                let out = if is_null { null_mut() } else { &raw mut image };
                let code = cu!(cuLinkComplete(
                    linker => u64, out => *mut u64, &raw mut size => *mut u64
                ));
                if code == 0 {
                    assert!(!is_null, "a linked image for nobody");
                    self.linked = Some((linker, image));
                }
                code
            }
            _ => {
                let code = cu!(cuLinkDestroy(linker => u64));
                self.ended(code, linker)
            }
        }
    }
}

/// The name of a kernel, or none.
fn name(operands: &mut Operands<'_>) -> *const c_char {
    static STRANGE: LazyLock<CString> =
        LazyLock::new(|| CString::new([0xff, 0xfe]).expect("no zero"));
    match operands.byte() {
        248.. => null(),
        240.. => STRANGE.as_ptr(),
        choice => kernels::NAMES[usize::from(choice) % kernels::NAMES.len()].as_ptr(),
    }
}
