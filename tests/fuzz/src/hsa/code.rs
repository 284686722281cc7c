//! Calls for code objects, executables and queues.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use hsa_runtime_sys::*;

use super::kernels;
use super::perform::Call;
use super::runtime::hsa;
use super::sequence::{Kind, Sequence, pointer};
use super::world::{BARRIER, dispatch, doorbell, write};
use crate::input::Operands;
use crate::panics;

extern "C" fn failed(status: hsa_status_t, _: *mut hsa_queue_t, _: *mut c_void) {
    panics::expect(
        status != HSA_STATUS_SUCCESS,
        "an error of a queue without a status",
    );
}

extern "C" fn seen(
    _: hsa_executable_t,
    _: hsa_executable_symbol_t,
    _: *mut c_void,
) -> hsa_status_t {
    HSA_STATUS_SUCCESS
}

type OnError = extern "C" fn(hsa_status_t, *mut hsa_queue_t, *mut c_void);
type OnSymbol =
    extern "C" fn(hsa_executable_t, hsa_executable_symbol_t, *mut c_void) -> hsa_status_t;

impl Sequence<'_> {
    fn executable(&self, operands: &mut Operands<'_>) -> hsa_executable_t {
        let handle = self.handle(Kind::Executable, operands);
        hsa_executable_t { handle }
    }

    pub(super) fn use_code(&mut self, call: Call, operands: &mut Operands<'_>) -> hsa_status_t {
        match call {
            Call::CreateReader => self.create_reader(operands),
            Call::CreateExecutable => {
                let (profile, rounding) = (operands.of(&[0, 1, 2]), operands.of(&[0, 1, 2, 3]));
                let is_old = operands.is_rare(32);
                self.make(Kind::Executable, 0, operands, |out| match is_old {
                    false => hsa!(hsa_executable_create_alt(
                        profile => u32, rounding => u32, null() => *const c_char, out => *mut u64
                    )),
                    true => hsa!(hsa_executable_create(
                        profile => u32, rounding => u32, null() => *const c_char, out => *mut u64
                    )),
                })
            }
            Call::Define => {
                let executable = self.executable(operands);
                let name = name(operands);
                let address = self.pick(&[Kind::Memory], operands).value;
                hsa!(hsa_executable_agent_global_variable_define(
                    executable => hsa_executable_t, self.agent(operands) => hsa_agent_t,
                    name => *const c_char, pointer(address) => *mut c_void
                ))
            }
            Call::LoadCode => {
                let executable = self.executable(operands);
                let handle = self.handle(Kind::Reader, operands);
                let mut loaded = 0u64;
                let loaded = if operands.is_rare(64) {
                    null_mut()
                } else {
                    &raw mut loaded
                };
                hsa!(hsa_executable_load_agent_code_object(
                    executable => hsa_executable_t, self.agent(operands) => hsa_agent_t,
                    hsa_code_object_reader_t { handle } => hsa_code_object_reader_t,
                    null() => *const c_char, loaded => *mut u64
                ))
            }
            Call::Freeze => {
                let executable = self.executable(operands);
                hsa!(hsa_executable_freeze(executable => hsa_executable_t, null() => *const c_char))
            }
            Call::GetSymbol => {
                let executable = self.executable(operands);
                let name = name(operands);
                let agent = self.agent(operands);
                let agent = if operands.is_rare(64) {
                    null()
                } else {
                    &raw const agent
                };
                self.make(Kind::Symbol, 0, operands, |out| {
                    hsa!(hsa_executable_get_symbol_by_name(
                        executable => hsa_executable_t, name => *const c_char, agent => *const hsa_agent_t,
                        out => *mut u64
                    ))
                })
            }
            Call::DescribeSymbol => {
                let handle = self.handle(Kind::Symbol, operands);
                let what = operands.of(&[22, 11, 13, 21, 1, 2, 0, 99]);
                let mut room = [0u64; 32];
                let value = if operands.is_rare(16) {
                    null_mut()
                } else {
                    room.as_mut_ptr()
                };
                let status = hsa!(hsa_executable_symbol_get_info(
                    hsa_executable_symbol_t { handle } => hsa_executable_symbol_t, what => u32,
                    value.cast() => *mut c_void
                ));
                if status == HSA_STATUS_SUCCESS && what == HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT
                {
                    self.objects.add(Kind::Kernel, room[0], 0, 0);
                }
                status
            }
            Call::Iterate => {
                let executable = self.executable(operands);
                let function = if operands.is_rare(16) {
                    None
                } else {
                    Some(seen as OnSymbol)
                };
                hsa!(hsa_executable_iterate_symbols(
                    executable => hsa_executable_t, function => Option<OnSymbol>, null_mut() => *mut c_void
                ))
            }
            _ => self.use_queues(call, operands),
        }
    }

    fn create_reader(&mut self, operands: &mut Operands<'_>) -> hsa_status_t {
        let choice = operands.byte();
        let (at, byte) = (usize::from(operands.byte()), operands.byte());
        let mut bytes = kernels::CODE_OBJECT.clone();
        match choice {
            0..128 => {}
            128..224 => {
                let at = (at * bytes.len() / 256 + usize::from(choice & 7)).min(bytes.len() - 1);
                bytes[at] = byte;
            }
            224..240 => bytes.truncate(at * bytes.len() / 256),
            _ => bytes.clear(),
        }
        let from = if choice >= 250 {
            null()
        } else {
            bytes.as_ptr()
        };
        let len = if choice >= 250 { 64 } else { bytes.len() };
        self.make(Kind::Reader, 0, operands, |out| {
            hsa!(hsa_code_object_reader_create_from_memory(
                from => *const u8, len => usize, out => *mut u64
            ))
        })
    }

    fn use_queues(&mut self, call: Call, operands: &mut Operands<'_>) -> hsa_status_t {
        match call {
            Call::CreateQueue => {
                let size = operands.of(&[64, 16, 1, 4096, 0, 3, 1 << 20]);
                let kind = operands.of(&[0, 1, 0, 2, 3]);
                let agent = self.agent(operands);
                let function = if operands.is_rare(64) {
                    None
                } else {
                    Some(failed as OnError)
                };
                self.make(Kind::Queue, size.into(), operands, |out| {
                    hsa!(hsa_queue_create(
                        agent => hsa_agent_t, size => u32, kind => u32, function => Option<OnError>,
                        null_mut() => *mut c_void, 0 => u32, 0 => u32, out => *mut u64
                    ))
                })
            }
            Call::CreateSoftQueue => {
                let size = operands.of(&[16, 1, 0, 3]);
                let (kind, features) = (operands.of(&[0, 1, 3]), operands.of(&[1, 2, 0]));
                let bell = self.signal(operands);
                let region = hsa_region_t {
                    handle: self.world.pools[0].handle,
                };
                self.make(Kind::SoftQueue, 0, operands, |out| {
                    hsa!(hsa_soft_queue_create(
                        region => hsa_region_t, size => u32, kind => u32, features => u32,
                        bell => hsa_signal_t, out => *mut u64
                    ))
                })
            }
            Call::UseQueue => {
                let queue = self.queue(operands);
                let choice = operands.byte();
                let mut mask = [u32::MAX; 4];
                let mask = if operands.is_rare(16) {
                    null_mut()
                } else {
                    mask.as_mut_ptr()
                };
                let bits = operands.of(&[32, 64, 128, 0, 33]);
                match choice % 5 {
                    0 => {
                        hsa!(hsa_amd_queue_set_priority(queue => *mut hsa_queue_t, bits / 64 => u32))
                    }
                    1 => hsa!(hsa_amd_queue_cu_set_mask(
                        queue => *const hsa_queue_t, bits => u32, mask => *const u32
                    )),
                    2 => hsa!(hsa_amd_queue_cu_get_mask(
                        queue => *const hsa_queue_t, bits => u32, mask => *mut u32
                    )),
                    3 => hsa!(hsa_amd_profiling_set_profiler_enabled(
                        queue => *mut hsa_queue_t, 1 => i32
                    )),
                    _ => hsa!(hsa_queue_inactivate(queue => *mut hsa_queue_t)),
                }
            }
            // Writes the address of memory where a kernel looks for it.
            Call::Argue => {
                let to = self.pick(&[Kind::Memory], operands).value;
                let argument = self.pick(&[Kind::Memory], operands).value;
                let to = self.checked(to, 8);
                hsa!(hsa_memory_copy(
                    pointer(to) => *mut c_void, &raw const argument => *const u64, 8 => usize
                ))
            }
            _ => self.dispatch(operands),
        }
    }

    /// Queues a kernel, if there is a queue with room.
    fn dispatch(&self, operands: &mut Operands<'_>) -> hsa_status_t {
        let Some(handle) = self.live(&[Kind::Queue], operands) else {
            return HSA_STATUS_ERROR_INVALID_QUEUE;
        };
        let choice = operands.byte();
        let kernel = match choice {
            0..128 => self.objects.pick(&[Kind::Kernel], None, choice).value,
            _ => self.world.kernels[usize::from(choice) % 4],
        };
        let arguments = self.pick(&[Kind::Memory], operands).value;
        let done = match operands.byte() {
            192.. => 0,
            choice => self.objects.pick(&[Kind::Signal], None, choice).value,
        };
        let queue: *mut hsa_queue_t = pointer(handle).cast();
        // SAFETY: the queue is there; its size does not change.
        let size = u64::from(unsafe { (*queue).size });
        let read = hsa!(hsa_queue_load_read_index_scacquire(queue => *const hsa_queue_t) -> u64);
        let next = hsa!(hsa_queue_load_write_index_relaxed(queue => *const hsa_queue_t) -> u64);
        if next - read >= size {
            return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
        }
        let index =
            hsa!(hsa_queue_add_write_index_relaxed(queue => *const hsa_queue_t, 1 => u64) -> u64);
        let mut packet = dispatch(kernel, arguments, done);
        packet[0] |= if operands.byte() % 2 == 1 { BARRIER } else { 0 };
        write(queue, index, &packet);
        hsa!(hsa_signal_store_screlease(
            doorbell(queue) => hsa_signal_t, index.cast_signed() => i64
        ) -> ());
        HSA_STATUS_SUCCESS
    }
}

/// The name of a kernel, or none.
fn name(operands: &mut Operands<'_>) -> *const c_char {
    match operands.byte() {
        248.. => null(),
        choice => kernels::NAMES[usize::from(choice) % kernels::NAMES.len()].as_ptr(),
    }
}
