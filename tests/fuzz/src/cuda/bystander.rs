//! A context that no sequence of calls uses: whatever these do, it works, and its memory stays.

use std::ffi::{CString, c_char, c_void};

use super::driver::{cu, works};
use super::{MEMORY, kernels};

/// Blocks of its memory, the words of each, and bytes between them for blocks of others: what is written beyond the end
/// of one of these may be found.
const BLOCKS: usize = 8;
const WORDS: usize = 64;
const BETWEEN: usize = 4096;

/// A context that has memory, a stream, an event and a kernel.
pub(super) struct Bystander {
    context: u64,
    /// Memory with known contents, and room for a result.
    memory: [u64; BLOCKS],
    result: u64,
    stream: u64,
    event: u64,
    module: u64,
    add: u64,
}

impl Bystander {
    pub(super) fn new(gpu: i32) -> Self {
        let mut context = 0;
        works(cu!(cuCtxCreate_v2(&raw mut context => *mut u64, 0 => u32, gpu => i32)));
        let [mut result, mut stream, mut event, mut module, mut add] = [0u64; 5];
        works(cu!(cuMemAlloc_v2(&raw mut result => *mut u64, 8 => usize)));
        works(cu!(cuStreamCreate(&raw mut stream => *mut u64, 0 => u32)));
        works(cu!(cuEventCreate(&raw mut event => *mut u64, 0 => u32)));
        let text = CString::new(kernels::TEXT).expect("no zero");
        works(cu!(cuModuleLoadData(&raw mut module => *mut u64, text.as_ptr() => *const c_char)));
        works(cu!(cuModuleGetFunction(
            &raw mut add => *mut u64, module => u64, c"add".as_ptr() => *const c_char
        )));
        let memory = memory();
        works(cu!(cuEventRecord(event => u64, stream => u64)));
        works(cu!(cuCtxPopCurrent_v2(std::ptr::null_mut() => *mut u64)));
        Self {
            context,
            memory,
            result,
            stream,
            event,
            module,
            add,
        }
    }

    /// Its handles and addresses, which other contexts must not use.
    pub(super) fn handles(&self) -> [u64; 5] {
        [
            self.memory[0],
            self.stream,
            self.event,
            self.module,
            self.add,
        ]
    }

    /// Panics if its memory has changed, or its kernel does not work.
    pub(super) fn check(&self) {
        works(cu!(cuCtxPushCurrent_v2(self.context => u64)));
        for block in self.memory {
            let mut found = [0u32; WORDS];
            works(cu!(cuMemcpyDtoH_v2(
                found.as_mut_ptr() => *mut u32, block => u64, 4 * WORDS => usize
            )));
            assert_eq!(found, words(), "the memory of a bystander");
        }
        works(cu!(cuMemsetD32_v2(self.result => u64, 0 => u32, 2 => usize)));
        let (mut a, mut b, mut sum) = (40u32, 2u64, self.result);
        let mut params: [*mut c_void; 3] = [
            (&raw mut a).cast(),
            (&raw mut b).cast(),
            (&raw mut sum).cast(),
        ];
        let extra: *mut *mut c_void = std::ptr::null_mut();
        works(cu!(cuLaunchKernel(
            self.add => u64,
            1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 0 => u32,
            self.stream => u64, params.as_mut_ptr() => *mut *mut c_void, extra => *mut *mut c_void
        )));
        works(cu!(cuEventRecord(self.event => u64, self.stream => u64)));
        works(cu!(cuEventSynchronize(self.event => u64)));
        let mut result = 0u64;
        works(cu!(cuMemcpyDtoH_v2(&raw mut result => *mut u64, self.result => u64, 8 => usize)));
        assert_eq!(result, 42, "the result of a bystander's kernel");
        works(cu!(cuCtxPopCurrent_v2(std::ptr::null_mut() => *mut u64)));
    }
}

/// Allocates the blocks, with room between them.
fn memory() -> [u64; BLOCKS] {
    let alloc = |bytes: usize| {
        let mut block = 0;
        works(cu!(cuMemAlloc_v2(&raw mut block => *mut u64, bytes => usize)));
        block
    };
    let words = words();
    let blocks = [(); BLOCKS].map(|()| (alloc(4 * WORDS), alloc(BETWEEN)));
    for (block, between) in blocks {
        works(cu!(cuMemcpyHtoD_v2(block => u64, words.as_ptr() => *const u32, 4 * WORDS => usize)));
        works(cu!(cuMemFree_v2(between => u64)));
    }
    // Freed memory is not used again before there is no other.
    let mut none = 0u64;
    assert_ne!(
        cu!(cuMemAlloc_v2(&raw mut none => *mut u64, MEMORY => u64)),
        0
    );
    blocks.map(|(block, _)| block)
}

fn words() -> [u32; WORDS] {
    std::array::from_fn(|at| 0x0b57_0000 + at as u32)
}
