//! Whether the lanes of a warp are one thread or separate threads in GCC's code.
//!
//! OpenMP allows no `target` in a `simd` loop, but a function that such a loop calls may
//! have one, and GCC calls it in each lane, with a stack for each lane. So GCC's own
//! `GOMP_target_ext`, like all its code, checks the current mode of the warp.
//!
//! Source: GCC's documentation of `-muniform-simt`, under "Nvidia PTX Options".

#[cfg(target_arch = "nvptx64")]
core::arch::global_asm!(".extern .shared .align 4 .u32 __nvptx_uni[32];");

/// Whether each lane is a thread of the program. The result is the same in all lanes of a warp.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(crate) fn lanes_are_threads() -> bool {
    use core::arch::{asm, nvptx};

    let mask: u32;
    // SAFETY: reads a special register, and GCC's variable in the block's memory. That
    // has an element for each warp, of which a block has no more, one for each `y`; only
    // this warp writes it, where it enters and leaves a `simd` loop.
    unsafe {
        let offset = 4 * u64::from(nvptx::_thread_idx_y());
        asm!(
            "mov.u64 {at}, __nvptx_uni;",
            "add.u64 {at}, {at}, {offset};",
            "ld.shared.u32 {mask}, [{at}];",
            at = out(reg64) _,
            offset = in(reg64) offset,
            mask = out(reg32) mask,
            options(readonly, nostack),
        );
    }
    // The bits of a lane's number that distinguish threads: none, or all.
    mask != 0
}

/// GCC's code for other targets has no warps.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) fn lanes_are_threads() -> bool {
    true
}
