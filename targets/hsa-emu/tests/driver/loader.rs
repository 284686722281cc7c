//! Loading code objects, and their symbols.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use hsa_emu::Arch;
use hsa_runtime_sys::*;

use crate::assemble;
use crate::gpu::{Gpu, hsa, is, read, works};
use crate::queue::{Kernels, Queue, dispatch, executable, info, load};

#[test]
fn segments_are_relocated() {
    let gpu = Gpu::new();
    let Some(kernels) = Kernels::load(&gpu) else {
        return;
    };
    let (number, address) = (kernels.address("number"), kernels.address("address"));
    assert_eq!(read(number), 0x0102_0304_0506_0708);
    assert_eq!(read(address), number.addr() as u64);
    assert_eq!(read(kernels.address("zeros").wrapping_byte_add(4088)), 0);
    assert_eq!(read(kernels.address("constant")) as u32, 7);
}

#[test]
fn symbols_have_their_properties() {
    let gpu = Gpu::new();
    let Some(kernels) = Kernels::load(&gpu) else {
        return;
    };
    let large = kernels.symbol("large.kd").expect("a kernel");
    let number = |symbol, what| info(symbol, what, 0u32);
    assert_eq!(
        number(large, HSA_EXECUTABLE_SYMBOL_INFO_TYPE),
        HSA_SYMBOL_KIND_KERNEL
    );
    let sizes = [
        HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE,
        HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE,
        HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE,
    ];
    assert_eq!(sizes.map(|what| number(large, what)), [1024, 256, 0]);
    let zeros = kernels.symbol("zeros").expect("a variable");
    assert_eq!(
        number(zeros, HSA_EXECUTABLE_SYMBOL_INFO_TYPE),
        HSA_SYMBOL_KIND_VARIABLE
    );
    assert_eq!(
        number(zeros, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE),
        4096
    );
    let is_constant = HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST;
    assert!(!info(zeros, is_constant, true));
    let constant = kernels.symbol("constant").expect("a variable");
    assert!(info(constant, is_constant, false));
    let len = number(zeros, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH);
    assert_eq!(len, 5);
    assert_eq!(
        &info(zeros, HSA_EXECUTABLE_SYMBOL_INFO_NAME, [0u8; 6]),
        b"zeros\0"
    );
    for missing in ["large", "nothing", ""] {
        is(
            kernels.symbol(missing).expect_err("none"),
            HSA_STATUS_ERROR_INVALID_SYMBOL_NAME,
        );
    }
    assert_eq!(
        kernels.symbols().len(),
        10,
        "six kernels and four variables"
    );
    let mut kind = 0u32;
    let status = hsa!(hsa_executable_symbol_get_info(
        hsa_executable_symbol_t { handle: 7 } => hsa_executable_symbol_t,
        HSA_EXECUTABLE_SYMBOL_INFO_TYPE => u32,
        (&raw mut kind).cast() => *mut c_void,
    ));
    is(status, HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL);
}

#[test]
fn executables_are_checked() {
    let gpu = Gpu::new();
    let Some(bytes) = assemble::kernels() else {
        return;
    };
    let never = hsa_executable_t { handle: 5 };
    is(
        load(never, &gpu, bytes),
        HSA_STATUS_ERROR_INVALID_EXECUTABLE,
    );
    let other = Gpu::with(Arch::Gfx1100, true);
    let executable = executable();
    is(
        load(executable, &other, bytes),
        HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
    );
    assert!(other.has_said("gfx90a"), "{:?}", other.said);
    is(
        load(executable, &gpu, &bytes[..bytes.len() / 2]),
        HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
    );
    is(
        load(executable, &gpu, b"text"),
        HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
    );
    // With the feature that the GPU has not: xnack on, in the flags.
    let mut with_xnack = bytes.to_vec();
    with_xnack[49] |= 3;
    is(
        load(executable, &gpu, &with_xnack),
        HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
    );
    works(load(executable, &gpu, bytes));
    let freeze =
        || hsa!(hsa_executable_freeze(executable => hsa_executable_t, null() => *const u8));
    works(freeze());
    is(freeze(), HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
    is(
        load(executable, &gpu, bytes),
        HSA_STATUS_ERROR_FROZEN_EXECUTABLE,
    );
    let destroy = || hsa!(hsa_executable_destroy(executable => hsa_executable_t));
    works(destroy());
    is(destroy(), HSA_STATUS_ERROR_INVALID_EXECUTABLE);
}

#[test]
fn a_kernel_without_its_executable_does_not_exist() {
    let gpu = Gpu::new();
    let Some(kernels) = Kernels::load(&gpu) else {
        return;
    };
    let object = kernels.object("trap");
    drop(kernels);
    is(launch(&gpu, object), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
}

#[test]
fn a_kernel_can_be_launched_when_its_executable_is_frozen() {
    let gpu = Gpu::new();
    let Some(kernels) = Kernels::load_unfrozen(&gpu) else {
        return;
    };
    // A strict runtime finds no symbol by its name yet.
    let is_trap = |&symbol: &_| {
        let name = info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, [0u8; 64]);
        name.starts_with(b"trap.kd\0")
    };
    let trap = kernels
        .symbols()
        .into_iter()
        .find(is_trap)
        .expect("a kernel");
    let object = info(trap, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, 0);
    is(launch(&gpu, object), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
    assert!(
        gpu.has_said("no kernel of a frozen executable"),
        "{:?}",
        gpu.said
    );
    works(kernels.freeze());
    is(launch(&gpu, object), HSA_STATUS_ERROR_EXCEPTION);
}

/// The error of a kernel that fails, in a queue of its own.
fn launch(gpu: &Gpu, object: u64) -> hsa_status_t {
    let queue = Queue::new(gpu, 4);
    let none = hsa_signal_t { handle: 0 };
    queue.push(&dispatch(object, null_mut(), none));
    queue.wait_for_failure()
}
