//! Loading code objects, and their symbols.

use std::ffi::c_void;
use std::ptr::null;

use hsa_emu::Arch;
use hsa_runtime_sys::*;

use crate::assemble;
use crate::gpu::{Gpu, hsa, is, read, works};
use crate::queue::{Kernels, executable, info, load};

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
    // All of them, and one that does not exist.
    unsafe extern "C" fn count(
        _: hsa_executable_t,
        _: hsa_agent_t,
        _: hsa_executable_symbol_t,
        count: *mut c_void,
    ) -> hsa_status_t {
        // SAFETY: the test's counter.
        unsafe { *count.cast::<u32>() += 1 };
        HSA_STATUS_SUCCESS
    }
    type Count = unsafe extern "C" fn(
        hsa_executable_t,
        hsa_agent_t,
        hsa_executable_symbol_t,
        *mut c_void,
    ) -> hsa_status_t;
    let mut symbols = 0u32;
    works(hsa!(hsa_executable_iterate_agent_symbols(
        kernels.executable => hsa_executable_t,
        gpu.agent => hsa_agent_t,
        count => Count,
        (&raw mut symbols).cast() => *mut c_void,
    )));
    assert_eq!(symbols, 10, "six kernels and four variables");
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
    let queue = crate::queue::Queue::new(&gpu, 4);
    let none = hsa_signal_t { handle: 0 };
    queue.push(&crate::queue::dispatch(object, std::ptr::null_mut(), none));
    is(
        queue.wait_for_failure(),
        HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
    );
}
