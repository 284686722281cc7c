//! Arrays, which are not supported, but for the descriptions of their elements.

/// A `cudaChannelFormatDesc`: the bits of each channel, and a `cudaChannelFormatKind`.
#[repr(C)]
pub struct ChannelDescription {
    x: i32,
    y: i32,
    z: i32,
    w: i32,
    kind: u32,
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaCreateChannelDesc(
    x: i32,
    y: i32,
    z: i32,
    w: i32,
    kind: u32,
) -> ChannelDescription {
    ChannelDescription { x, y, z, w, kind }
}
