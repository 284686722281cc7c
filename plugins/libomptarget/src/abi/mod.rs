//! Layouts and flags that compilers for LLVM's offload runtime put into programs, as of LLVM 22.
//!
//! Source: `llvm/Frontend/Offloading/Utility.h` and `offload/include/Shared/APITypes.h` of
//! LLVM 22, read for layouts; sizes checked against what clang 22 emits.

pub(crate) mod libomp;

use std::ffi::{c_char, c_void};

/// A location in the source, as compilers pass it to their runtimes: `ident_t`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Ident {
    pub(crate) reserved_1: i32,
    pub(crate) flags: i32,
    pub(crate) reserved_2: i32,
    pub(crate) reserved_3: i32,
    /// `;file;function;line;column;;`
    pub(crate) source: *const c_char,
}

/// The name of a mapped variable, `;name;file;line;column;;`, or null.
pub(crate) type Name = *const c_char;

/// A function or variable of a program with a counterpart in its images.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct OffloadEntry {
    /// 0; the form before LLVM 20 has the address here.
    pub(crate) reserved: u64,
    pub(crate) version: u16,
    /// The programming model: [`KIND_OPENMP`].
    pub(crate) kind: u16,
    pub(crate) flags: u32,
    /// On the host.
    pub(crate) address: *mut c_void,
    /// In the images.
    pub(crate) name: *const c_char,
    /// Bytes of a variable; 0 of a function.
    pub(crate) size: u64,
    pub(crate) data: u64,
    pub(crate) aux: *mut c_void,
}

/// [`OffloadEntry::kind`] of OpenMP.
pub(crate) const KIND_OPENMP: u16 = 1;

/// [`OffloadEntry::flags`]: a function that is called through pointers. Its counterpart is a
/// pointer to the device's function.
pub(crate) const ENTRY_INDIRECT: u32 = 0x8;
/// [`OffloadEntry::flags`]: a table of virtual functions, whose counterpart is a pointer to the
/// device's table; the size is the host's table's.
pub(crate) const ENTRY_VTABLE: u32 = 0x20;
/// The suffix of the names of pointers to variables that devices share with the host, or link to.
pub(crate) const REFERENCE: &str = "_decl_tgt_ref_ptr";
/// [`OffloadEntry::flags`]: requirements of the program, in [`OffloadEntry::data`], without a
/// counterpart.
pub(crate) const ENTRY_REQUIRES: u32 = 0x10;

/// [`OffloadEntry`] before LLVM 20.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct OldOffloadEntry {
    pub(crate) address: *mut c_void,
    pub(crate) name: *const c_char,
    pub(crate) size: u64,
    pub(crate) flags: i32,
    pub(crate) data: i32,
}

/// One image of a program.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct DeviceImage {
    pub(crate) start: *const c_void,
    pub(crate) end: *const c_void,
    pub(crate) entries_begin: *const OffloadEntry,
    pub(crate) entries_end: *const OffloadEntry,
}

/// A program's registration: its images, and the entries with counterparts in them.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct BinaryDescription {
    pub(crate) image_count: i32,
    pub(crate) images: *const DeviceImage,
    pub(crate) entries_begin: *const OffloadEntry,
    pub(crate) entries_end: *const OffloadEntry,
}

/// [`KernelArgs::version`] of LLVM 19 to 22. Kernels of older ones have no implicit parameter.
pub(crate) const KERNEL_ARGS_VERSION: u32 = 3;

/// [`KernelArgs::flags`]: the launch belongs to a task that may be resumed.
pub(crate) const NO_WAIT: u64 = 1;

/// Arguments of a launch.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct KernelArgs {
    pub(crate) version: u32,
    pub(crate) count: u32,
    pub(crate) bases: *mut *mut c_void,
    pub(crate) begins: *mut *mut c_void,
    pub(crate) sizes: *const i64,
    pub(crate) types: *const i64,
    pub(crate) names: *const Name,
    pub(crate) mappers: *const *mut c_void,
    /// Iterations of the loop that is distributed over the teams; 0 without one.
    pub(crate) trip_count: u64,
    pub(crate) flags: u64,
    pub(crate) teams: [u32; 3],
    pub(crate) threads: [u32; 3],
    pub(crate) dynamic_shared_bytes: u32,
}

impl KernelArgs {
    /// Reads arguments of any version. Before version 3 the numbers of teams and threads are passed
    /// separately, and version 1 ends with the trip count.
    ///
    /// # Safety
    /// A compiler made them.
    pub(crate) unsafe fn read(from: *const Self, teams: i32, threads: i32) -> Self {
        // SAFETY: the caller's promise: all versions begin with their number.
        let version = unsafe { (&raw const (*from).version).read() };
        if version >= KERNEL_ARGS_VERSION {
            // SAFETY: the caller's promise: a compiler made them, and this version has all fields.
            return unsafe { from.read() };
        }
        let beside = |count: i32| [u32::try_from(count).unwrap_or(0), 1, 1];
        // SAFETY: the caller's promise: version 1 has these fields, and version 2 the others.
        unsafe {
            Self {
                version,
                count: (&raw const (*from).count).read(),
                bases: (&raw const (*from).bases).read(),
                begins: (&raw const (*from).begins).read(),
                sizes: (&raw const (*from).sizes).read(),
                types: (&raw const (*from).types).read(),
                names: (&raw const (*from).names).read(),
                mappers: (&raw const (*from).mappers).read(),
                trip_count: (&raw const (*from).trip_count).read(),
                flags: match version {
                    2 => (&raw const (*from).flags).read(),
                    _ => 0,
                },
                teams: beside(teams),
                threads: beside(threads),
                dynamic_shared_bytes: match version {
                    2 => (&raw const (*from).dynamic_shared_bytes).read(),
                    _ => 0,
                },
            }
        }
    }
}

/// One dimension of an array section that is not contiguous, sizes in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dimension {
    pub(crate) offset: u64,
    pub(crate) count: u64,
    pub(crate) stride: u64,
}

/// How an argument is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MapType(pub(crate) u64);

impl MapType {
    pub(crate) const TO: Self = Self(0x1);
    pub(crate) const FROM: Self = Self(0x2);
    /// Copied whether it is present or not.
    pub(crate) const ALWAYS: Self = Self(0x4);
    pub(crate) const DELETE: Self = Self(0x8);
    /// The base is the address of a pointer to the mapped data.
    pub(crate) const PTR_AND_OBJ: Self = Self(0x10);
    /// The kernel has a parameter for it.
    pub(crate) const TARGET_PARAM: Self = Self(0x20);
    /// The base is replaced by the device's.
    pub(crate) const RETURN_PARAM: Self = Self(0x40);
    pub(crate) const PRIVATE: Self = Self(0x80);
    /// The base is a value.
    pub(crate) const LITERAL: Self = Self(0x100);
    pub(crate) const IMPLICIT: Self = Self(0x200);
    /// On the device even if that can use the host's memory.
    pub(crate) const CLOSE: Self = Self(0x400);
    /// Fails if it is not present.
    pub(crate) const PRESENT: Self = Self(0x1000);
    /// Counts in a count of its own.
    pub(crate) const HOLD: Self = Self(0x2000);
    /// Not mapped: the pointer at the base is attached to the mapped data.
    pub(crate) const ATTACH: Self = Self(0x4000);
    /// The begin is an array of [`Dimension`]s, the size their number.
    pub(crate) const NON_CONTIGUOUS: Self = Self(0x1000_0000_0000);
    const MEMBER_OF_SHIFT: u32 = 48;

    /// Whether it has one of these flags.
    #[must_use]
    pub(crate) fn has(self, flags: Self) -> bool {
        self.0 & flags.0 != 0
    }

    /// The argument that it is a member of.
    #[must_use]
    pub(crate) fn parent(self) -> Option<usize> {
        (self.0 >> Self::MEMBER_OF_SHIFT)
            .checked_sub(1)
            .map(|parent| parent as usize)
    }

    /// Whether it is a member of another argument.
    #[must_use]
    pub(crate) fn is_member(self) -> bool {
        self.parent().is_some()
    }

    /// Whether a lambda captures it by reference.
    #[must_use]
    pub(crate) fn is_captured(self) -> bool {
        let flags = Self::PTR_AND_OBJ.0 | Self::LITERAL.0 | Self::IMPLICIT.0;
        self.0 & flags == flags
    }
}

impl std::ops::BitOr for MapType {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<Ident>() == 24);
    assert!(size_of::<OffloadEntry>() == 56);
    assert!(offset_of!(OffloadEntry, address) == 16);
    assert!(offset_of!(OffloadEntry, name) == 24);
    assert!(offset_of!(OffloadEntry, size) == 32);
    assert!(offset_of!(OffloadEntry, data) == 40);
    assert!(size_of::<OldOffloadEntry>() == 32);
    assert!(size_of::<DeviceImage>() == 32);
    assert!(size_of::<BinaryDescription>() == 32);
    assert!(size_of::<KernelArgs>() == 104);
    assert!(offset_of!(KernelArgs, trip_count) == 56);
    assert!(offset_of!(KernelArgs, flags) == 64);
    assert!(offset_of!(KernelArgs, teams) == 72);
    assert!(offset_of!(KernelArgs, threads) == 84);
    assert!(offset_of!(KernelArgs, dynamic_shared_bytes) == 96);
    assert!(size_of::<Dimension>() == 24);
};
