//! `rpc_host_call`, by which device code calls a function by its address on the host.
//!
//! It is a function of LLVM's C library for GPUs; revoff_rpc.h implements it with device-rt.

use std::ffi::c_void;
use std::fmt;
use std::mem;

use revoff_fn::{BadArguments, Failure, HostFunction, RawArg};
use shared_abi::map_kind::MapKind;

use super::objects::Objects;

/// Its name in images.
pub(crate) const NAME: &str = "rpc_host_call";

/// A function that is called by its address, with a copy of its arguments.
type Called = unsafe extern "C" fn(*mut c_void) -> u64;

/// Calls a function by its address if these objects export it: an address that the device sends is
/// never called unchecked.
pub(crate) struct HostCall(pub(crate) Objects);

impl HostFunction for HostCall {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> u64 {
        0
    }

    unsafe fn call(&self, args: &[RawArg], message: &mut dyn fmt::Write) -> Result<(), Failure> {
        const KINDS: [MapKind; 3] = [MapKind::FIRSTPRIVATE_INT, MapKind::TO, MapKind::FROM];
        let &[function, data, result] = args else {
            return Err(Failure::BadArguments(BadArguments::Count {
                expected: KINDS.len(),
                found: args.len(),
            }));
        };
        for (argument, (arg, expected)) in args.iter().zip(KINDS).enumerate() {
            let found = arg.kind.plain();
            if found != expected {
                return Err(Failure::BadArguments(BadArguments::Kind {
                    argument,
                    expected,
                    found,
                }));
            }
        }
        if result.size != 8 {
            return Err(Failure::BadArguments(BadArguments::Size {
                argument: 2,
                expected: 8,
                found: result.size,
            }));
        }
        let address = function.ptr.addr();
        if !self.0.export(address) {
            let _ = write!(
                message,
                "{address:#x} is no function that the program exports: is it the host's address, and is \
                 the program linked with -rdynamic?"
            );
            return Err(Failure::Function);
        }
        // SAFETY: the program's device code calls its exported function in this way, so it has
        // this type.
        let called = unsafe { mem::transmute::<*mut u8, Called>(function.ptr) };
        // A copy that the function may write to, aligned for any type.
        let bytes = data.size as usize;
        let mut copy = vec![0u128; bytes.div_ceil(size_of::<u128>())];
        if bytes > 0 {
            // SAFETY: the caller vouches for the bytes, and the copy has room for them.
            unsafe {
                data.ptr
                    .copy_to_nonoverlapping(copy.as_mut_ptr().cast(), bytes)
            };
        }
        // SAFETY: the function has this type, and takes a copy of its arguments.
        let value = unsafe { called(copy.as_mut_ptr().cast()) };
        // SAFETY: the caller's promise: 8 bytes that may be written.
        unsafe { result.ptr.cast::<u64>().write_unaligned(value) };
        Ok(())
    }
}
