//! The struct by which host programs name their fatbins.

use std::ffi::c_void;

/// A variable of a host program that points to a fatbin, in the section `.nvFatBinSegment`.
/// `__cudaRegisterFatBinary` gets its address, and `cuModuleLoadData` accepts it instead of an
/// image. Source: `fatbinary_section.h` of the CUDA toolkit.
///
/// It contains addresses, so only the program itself can read it: check [`magic`](Self::magic) and
/// [`version`](Self::version), then get the size of the fatbin at [`data`](Self::data) from
/// [`whole_size`](super::whole_size).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Wrapper {
    /// [`MAGIC`](Self::MAGIC).
    pub magic: u32,
    /// [`VERSION`](Self::VERSION) or [`LINK_VERSION`](Self::LINK_VERSION).
    pub version: u32,
    /// The fatbin.
    pub data: *const c_void,
    /// With `VERSION`, the name of a file, or null. With `LINK_VERSION`, an array of the fatbins of
    /// the objects that were linked, which ends in a null pointer; their PTX can be linked again.
    pub filename_or_fatbins: *const c_void,
}

impl Wrapper {
    /// The first word.
    pub const MAGIC: u32 = 0x4662_43B1;
    /// The version of a program whose device code needs no link step.
    pub const VERSION: u32 = 1;
    /// The version of device code that `nvlink` has linked.
    pub const LINK_VERSION: u32 = 2;
}
