//! Freeing all that a sequence has made.

use std::ptr::null_mut;

use super::driver::{cu, works};
use super::sequence::{Kind, Sequence};
use crate::objects::Object;

/// The order in which a context's resources are freed.
const ORDER: [Kind; 9] = [
    Kind::Linker,
    Kind::Module,
    Kind::Event,
    Kind::Stream,
    Kind::Block,
    Kind::AsyncBlock,
    Kind::Managed,
    Kind::Pinned,
    Kind::Registered,
];

/// The memory of a GPU that is not allocated. Nobody uses it meanwhile.
pub(super) fn free_memory(gpu: i32) -> usize {
    let (mut context, mut free, mut total) = (0u64, 0usize, 0usize);
    works(cu!(cuCtxCreate_v2(&raw mut context => *mut u64, 0 => u32, gpu => i32)));
    works(cu!(cuMemGetInfo_v2(&raw mut free => *mut usize, &raw mut total => *mut usize)));
    works(cu!(cuCtxDestroy_v2(context => u64)));
    free
}

impl Sequence<'_> {
    /// Frees everything. All of it must be there, unless its context is broken.
    pub(super) fn free_all(&mut self) {
        while cu!(cuCtxPopCurrent_v2(null_mut() => *mut u64)) == 0 {}
        let contexts = self.objects.live_of(&[Kind::Context, Kind::Primary]);
        let contexts: Vec<_> = contexts.map(|context| context.value).collect();
        for &context in &contexts {
            self.free_context(context);
        }
        let all: Vec<_> = self.objects.live().copied().collect();
        for object in all {
            match object.kind {
                Kind::Library => works(cu!(cuLibraryUnload(object.value => u64))),
                Kind::Pool => works(cu!(cuMemPoolDestroy(object.value => u64))),
                _ => {}
            }
        }
        let leaks = cuda_emu::counts().leaks;
        for context in contexts {
            let is_context = |object: Object<Kind>| object.value == context;
            if self.objects.live_of(&[Kind::Context]).any(is_context) {
                works(self.destroy_context(
                    context,
                    false,
                    || cu!(cuCtxDestroy_v2(context => u64)),
                ));
            }
        }
        for at in 0..2 {
            for left in (0..self.retained[at]).rev() {
                let gpu = self.gpus.own[at];
                let release = || cu!(cuDevicePrimaryCtxRelease_v2(gpu => i32));
                works(match left {
                    0 => self.destroy_primary(at, false, release),
                    _ => release(),
                });
            }
            // Its pool is still there.
            let (gpu, mut pool) = (self.gpus.own[at], 0u64);
            works(cu!(cuDeviceGetMemPool(&raw mut pool => *mut u64, gpu => i32)));
            works(cu!(cuMemPoolTrimTo(pool => u64, 0 => usize)));
            works(cu!(cuDeviceSetMemPool(gpu => i32, self.gpus.pools[at] => u64)));
        }
        assert_eq!(cuda_emu::counts().leaks, leaks, "what was freed has leaked");
    }

    /// Frees what a context has.
    fn free_context(&mut self, context: u64) {
        works(cu!(cuCtxPushCurrent_v2(context => u64)));
        let is_intact = cu!(cuCtxSynchronize()) == 0;
        let waits = self.waits.remove(&context);
        if is_intact {
            for kind in ORDER {
                let all = self.objects.live_of(&[kind]);
                for Object { value, .. } in all.filter(|object| object.owner == context) {
                    let code = match kind {
                        Kind::Linker => cu!(cuLinkDestroy(value => u64)),
                        Kind::Module => cu!(cuModuleUnload(value => u64)),
                        Kind::Event => cu!(cuEventDestroy_v2(value => u64)),
                        Kind::Stream => cu!(cuStreamDestroy_v2(value => u64)),
                        Kind::Pinned => cu!(cuMemFreeHost(value => u64)),
                        Kind::Registered => cu!(cuMemHostUnregister(value => u64)),
                        _ => cu!(cuMemFree_v2(value => u64)),
                    };
                    assert_eq!(code, 0, "freeing {kind:?} {value:#x}");
                    self.objects.end(value);
                }
            }
            if let Some(waits) = waits {
                works(cu!(cuMemFree_v2(waits.words => u64)));
                works(cu!(cuStreamDestroy_v2(waits.releaser => u64)));
            }
        }
        works(cu!(cuCtxPopCurrent_v2(null_mut() => *mut u64)));
    }
}
