//! The arguments that GCC's device code reads, beyond the pointer that its kernels declare:
//! libgomp's `struct kernargs_abi`.

use revoff_host::{KernelArg, Params};
use targets::code_object::Kernel;

use crate::error::Error;

/// Bytes of arguments that GCC's kernels declare: the pointer to the region's variables.
const NAMED: u32 = 8;

/// Checks that kernels declare no other arguments.
///
/// # Errors
/// A kernel declares others.
pub(crate) fn check(kernels: &[Kernel]) -> Result<(), Error> {
    match kernels.iter().find(|kernel| kernel.kernarg_size > NAMED) {
        None => Ok(()),
        Some(kernel) => Err(Error::Arguments {
            kernel: kernel.name.clone(),
            bytes: kernel.kernarg_size,
            known: NAMED,
        }),
    }
}

/// Addresses are the device's.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// The region's variables.
    pub(crate) vars: u64,
    /// Not read.
    pub(crate) reserved: u64,
    /// The queue by which the kernel calls the host and prints.
    pub(crate) queue: u64,
    /// The memory for `malloc`: its size, followed by the memory.
    pub(crate) heap: u64,
    /// The memory for a team's structures; 0 if there is none.
    pub(crate) arena: u64,
    /// The stacks of all wavefronts, in order.
    pub(crate) stacks: u64,
    /// Bytes of a team's arena.
    pub(crate) arena_bytes: i32,
    /// Bytes of a wavefront's stack.
    pub(crate) stack_bytes: i32,
}

const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<Arguments>() == 56);
    assert!(offset_of!(Arguments, queue) == 16);
    assert!(offset_of!(Arguments, heap) == 24);
    assert!(offset_of!(Arguments, arena) == 32);
    assert!(offset_of!(Arguments, stacks) == 40);
    assert!(offset_of!(Arguments, arena_bytes) == 48);
    assert!(offset_of!(Arguments, stack_bytes) == 52);
};

impl KernelArg for Arguments {
    fn push_to(&self, params: &mut Params) {
        let words = [
            self.vars,
            self.reserved,
            self.queue,
            self.heap,
            self.arena,
            self.stacks,
        ];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(self.arena_bytes.to_le_bytes());
        bytes.extend(self.stack_bytes.to_le_bytes());
        params.push(&bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_gcc_does_not_have_are_refused() {
        let kernel = |name: &str, kernarg_size| Kernel {
            name: name.to_owned(),
            kernarg_size,
            ..Kernel::default()
        };
        let kernels = [
            kernel("_init_array", 0),
            kernel("main._omp_fn.0", 8),
            kernel("main._omp_fn.1", 16),
        ];
        check(&kernels[..2]).unwrap();
        let error = check(&kernels).unwrap_err().to_string();
        for text in ["`main._omp_fn.1`", "16 bytes", "take 8"] {
            assert!(error.contains(text), "{error}");
        }
    }

    #[test]
    fn they_are_where_the_device_looks() {
        let arguments = Arguments {
            vars: 1,
            reserved: 0,
            queue: 2,
            heap: 3,
            arena: 4,
            stacks: 5,
            arena_bytes: 6,
            stack_bytes: 7,
        };
        let mut params = Params::default();
        arguments.push_to(&mut params);
        let bytes = params.bytes();
        assert_eq!(bytes.len(), size_of::<Arguments>());
        let found: Vec<_> = (0..bytes.len()).filter(|&at| bytes[at] != 0).collect();
        assert_eq!(found, [0, 16, 24, 32, 40, 48, 52]);
        assert_eq!(bytes[52], 7);
    }
}
