//! What GCC's device code finds in the memory of its arguments, beyond the pointer that its
//! kernels name: libgomp's `struct kernargs_abi`.

use host_rt::KernelArg;

/// Addresses are the device's.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// The region's variables.
    pub(crate) vars: u64,
    /// Nobody reads it.
    pub(crate) reserved: u64,
    /// The queue by which the kernel calls the host and prints.
    pub(crate) queue: u64,
    /// What `malloc` takes memory from: its size, and then itself.
    pub(crate) heap: u64,
    /// What a team makes its structures in; 0 if there is none.
    pub(crate) arena: u64,
    /// The stacks, a wavefront's after the other's.
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
    fn bytes(&self) -> Vec<u8> {
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
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let bytes = arguments.bytes();
        assert_eq!(bytes.len(), size_of::<Arguments>());
        let found: Vec<_> = (0..bytes.len()).filter(|&at| bytes[at] != 0).collect();
        assert_eq!(found, [0, 16, 24, 32, 40, 48, 52]);
        assert_eq!(bytes[52], 7);
    }
}
