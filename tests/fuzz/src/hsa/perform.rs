//! The calls.

use std::ffi::c_void;
use std::ptr::null_mut;

use hsa_runtime_sys::*;

use super::runtime::hsa;
use super::sequence::{Kind, Sequence, destroy};
use crate::input::{Operands, calls_of};

calls_of! {
    CreateSignal DestroySignal Store Load Add Wait WaitAny CreateGroup DestroyGroup WaitGroup Handle RunLater Expose
    Alloc Free Allow Lock Unlock Copy Fill CopyAsync CopyRows Describe SetUserData OnFree
    CreateReader DestroyReader CreateExecutable DestroyExecutable Define LoadCode Freeze GetSymbol DescribeSymbol
    Iterate CreateQueue CreateSoftQueue DestroyQueue UseQueue Argue Dispatch
    Query
}

impl Sequence<'_> {
    /// Makes a call. Returns its status.
    pub(super) fn perform(&mut self, call: Call, operands: &mut Operands<'_>) -> hsa_status_t {
        use Call::*;
        let kind = match call {
            DestroySignal => Kind::Signal,
            DestroyGroup => Kind::Group,
            DestroyReader => Kind::Reader,
            DestroyExecutable => Kind::Executable,
            DestroyQueue => Kind::Queue,
            Unlock => Kind::Locked,
            Free => Kind::Memory,
            CreateSignal | Store | Load | Add | Wait | WaitAny | CreateGroup | WaitGroup
            | Handle | RunLater | Expose => return self.use_signals(call, operands),
            Alloc | Allow | Lock | Copy | Fill | CopyAsync | CopyRows | Describe | SetUserData
            | OnFree => return self.use_memory(call, operands),
            CreateReader | CreateExecutable | Define | LoadCode | Freeze | GetSymbol
            | DescribeSymbol | Iterate | CreateQueue | CreateSoftQueue | UseQueue | Argue
            | Dispatch => return self.use_code(call, operands),
            Query => return self.query(operands),
        };
        let value = self.handle(kind, operands);
        if value == self.world.foreign() {
            return HSA_STATUS_ERROR;
        }
        let status = destroy(kind, value);
        // Of a range that is locked several times, the last one is unlocked.
        if kind == Kind::Locked {
            if status == HSA_STATUS_SUCCESS {
                self.objects.end_last(kind, value);
            }
            return status;
        }
        self.ended(status, value)
    }

    /// A call that changes nothing.
    fn query(&self, operands: &mut Operands<'_>) -> hsa_status_t {
        let which = operands.byte();
        let mut room = [0u64; 32];
        let value: *mut c_void = match operands.is_rare(8) {
            true => null_mut(),
            false => room.as_mut_ptr().cast(),
        };
        let agent = self.agent(operands);
        let what =
            u32::from(operands.byte() % 32) + if operands.byte() % 2 == 1 { 0xa000 } else { 0 };
        let pool = self.world.pools[usize::from(which) % 3];
        match which % 8 {
            0 => hsa!(hsa_agent_get_info(agent => hsa_agent_t, what => u32, value => *mut c_void)),
            1 => hsa!(hsa_amd_memory_pool_get_info(
                pool => hsa_amd_memory_pool_t, what => u32, value => *mut c_void
            )),
            2 => hsa!(hsa_system_get_info(what => u32, value => *mut c_void)),
            3 => hsa!(hsa_amd_agent_memory_pool_get_info(
                agent => hsa_agent_t, pool => hsa_amd_memory_pool_t, what => u32, value => *mut c_void
            )),
            4 => hsa!(hsa_status_string(what => u32, value.cast() => *mut *const i8)),
            5 => hsa!(hsa_amd_profiling_get_async_copy_time(
                self.signal(operands) => hsa_signal_t, value => *mut c_void
            )),
            6 => hsa!(hsa_amd_coherency_get_type(agent => hsa_agent_t, value.cast() => *mut u32)),
            _ => hsa!(hsa_region_get_info(
                hsa_region_t { handle: pool.handle } => hsa_region_t, what => u32, value => *mut c_void
            )),
        }
    }
}
