//! Calls for memory and copies.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use hsa_runtime_sys::*;

use super::perform::Call;
use super::runtime::hsa;
use super::sequence::{Kind, MEMORY, Sequence, pointer};
use crate::host_memory::{self, HOST_MEMORY};
use crate::input::Operands;
use crate::objects::{Object, part};

/// Sizes of memory, some of which are impossible.
const SIZES: [u64; 12] = [
    4,
    64,
    256,
    4095,
    4096,
    4097,
    65536,
    0,
    5 << 20,
    32 << 20,
    1 << 41,
    u64::MAX,
];

/// Bytes between rows, bytes of rows, and rows.
const PITCHES: [u64; 8] = [0, 4, 16, 64, 512, 6, 1 << 40, u64::MAX - 3];
const WIDTHS: [u32; 8] = [1, 2, 4, 8, 16, 0, 4097, u32::MAX];
const HEIGHTS: [u32; 8] = [1, 1, 2, 4, 8, 0, 1 << 16, u32::MAX];

extern "C" fn freed(_: *mut c_void, _: *mut c_void) {}

type OnFree = extern "C" fn(*mut c_void, *mut c_void);

impl Sequence<'_> {
    pub(super) fn use_memory(&mut self, call: Call, operands: &mut Operands<'_>) -> hsa_status_t {
        match call {
            Call::Alloc => {
                let choice = operands.byte();
                let bytes = operands.of(&SIZES);
                let pool = match choice {
                    240.. => hsa_amd_memory_pool_t {
                        handle: u64::from(choice),
                    },
                    _ => self.world.pools[usize::from(choice) % 3],
                };
                let is_region = operands.byte() % 2 == 1;
                self.make(Kind::Memory, bytes, operands, |out| match is_region {
                    false => hsa!(hsa_amd_memory_pool_allocate(
                        pool => hsa_amd_memory_pool_t, bytes => u64, 0 => u32, out => *mut u64
                    )),
                    true => hsa!(hsa_memory_allocate(
                        hsa_region_t { handle: pool.handle } => hsa_region_t, bytes => u64, out => *mut u64
                    )),
                })
            }
            Call::Allow => {
                let memory = self.pick(&MEMORY, operands);
                let address = self.own(part(&memory, operands.byte(), 0).0);
                let agents = [self.agent(operands), self.world.cpu];
                let count = operands.of(&[1, 1, 2, 0]);
                let flags = 0u32;
                let flags = if operands.is_rare(16) {
                    &raw const flags
                } else {
                    null()
                };
                let agents = if operands.is_rare(16) {
                    null()
                } else {
                    agents.as_ptr()
                };
                hsa!(hsa_amd_agents_allow_access(
                    count => u32, agents => *const hsa_agent_t, flags => *const u32, pointer(address) => *const c_void
                ))
            }
            Call::Lock => self.lock(operands),
            Call::Copy => {
                let (_, to, len) = self.part(operands);
                let from = self.pick(&MEMORY, operands);
                let from = match operands.byte() {
                    0..192 => part(&from, operands.byte(), 0).0,
                    _ => HOST_MEMORY.copied,
                };
                let (to, from) = (self.checked(to, len), self.checked(from, len));
                hsa!(hsa_memory_copy(pointer(to) => *mut c_void, pointer(from) => *const c_void, len => u64))
            }
            Call::Fill => {
                let (_, address, len) = self.part(operands);
                let count = if len > 1 << 32 { len } else { len / 4 };
                let address = self.checked(address, len);
                hsa!(hsa_amd_memory_fill(pointer(address) => *mut c_void, 7 => u32, count => u64))
            }
            Call::CopyAsync => self.copy_async(operands),
            Call::CopyRows => self.copy_rows(operands),
            Call::Describe => {
                let memory = self.pick(&MEMORY, operands);
                let address = part(&memory, operands.byte(), 0).0;
                self.describe(address, operands)
            }
            Call::SetUserData => {
                let address = self.own(self.pick(&MEMORY, operands).value);
                hsa!(hsa_amd_pointer_info_set_userdata(
                    pointer(address) => *const c_void, pointer(address) => *mut c_void
                ))
            }
            _ => {
                let address = self.own(self.pick(&MEMORY, operands).value);
                let function = if operands.is_rare(16) {
                    None
                } else {
                    Some(freed as OnFree)
                };
                if operands.byte() % 2 == 1 {
                    return hsa!(hsa_amd_deregister_deallocation_callback(
                        pointer(address) => *mut c_void, function => Option<OnFree>
                    ));
                }
                hsa!(hsa_amd_register_deallocation_callback(
                    pointer(address) => *mut c_void, function => Option<OnFree>, null_mut() => *mut c_void
                ))
            }
        }
    }

    /// An address, unless it is somebody else's.
    fn own(&self, address: u64) -> u64 {
        if address == self.world.foreign() {
            0
        } else {
            address
        }
    }

    /// A part of memory.
    fn part(&self, operands: &mut Operands<'_>) -> (Object<Kind>, u64, u64) {
        let memory = self.pick(&MEMORY, operands);
        let (offset, len) = (operands.byte(), operands.byte());
        let (address, len) = part(&memory, offset, len);
        (memory, address, len)
    }

    fn lock(&mut self, operands: &mut Operands<'_>) -> hsa_status_t {
        let bytes = operands.of(&SIZES);
        let offset = 64 * u64::from(operands.byte());
        let is_there = offset
            .checked_add(bytes)
            .is_some_and(|end| end <= host_memory::BYTES);
        let address = match operands.byte() {
            248.. => 0,
            // Not the host's own.
            240.. => self.checked(self.pick(&[Kind::Memory], operands).value, bytes),
            _ if is_there => HOST_MEMORY.mapped + offset,
            _ => 0,
        };
        let agents = [self.agent(operands), self.world.cpu];
        let count = operands.of(&[0, 1, 2, -1]);
        let agents = if count == 0 { null() } else { agents.as_ptr() };
        let mut locked = 0u64;
        let out = if operands.is_rare(16) {
            null_mut()
        } else {
            &raw mut locked
        };
        let status = hsa!(hsa_amd_memory_lock(
            pointer(address) => *mut c_void, bytes => u64, agents => *const hsa_agent_t, count => i32,
            out => *mut u64
        ));
        if status == HSA_STATUS_SUCCESS {
            let of_host = HOST_MEMORY.mapped..HOST_MEMORY.mapped + host_memory::BYTES;
            assert!(of_host.contains(&address), "{address:#x} was locked");
            self.objects.add(Kind::Locked, address, 0, bytes);
        }
        status
    }

    fn copy_async(&self, operands: &mut Operands<'_>) -> hsa_status_t {
        let (_, mut to, len) = self.part(operands);
        let mut from = self.pick(&MEMORY, operands).value;
        let done = self.signal(operands);
        let after = [self.signal(operands); 2];
        let choice = operands.byte();
        let of = |address: u64| match address >> 45 {
            1 => self.world.gpu,
            _ => self.world.cpu,
        };
        let agents = match choice {
            0..224 => [of(to), of(from)],
            _ => [self.agent(operands), self.agent(operands)],
        };
        if agents
            .iter()
            .all(|agent| agent.handle == self.world.cpu.handle)
        {
            (to, from) = (self.checked(to, len), self.checked(from, len));
        }
        let count = u32::from(choice % 3);
        let after = if count == 0 || choice >= 250 {
            null()
        } else {
            after.as_ptr()
        };
        hsa!(hsa_amd_memory_async_copy(
            pointer(to) => *mut c_void, agents[0] => hsa_agent_t, pointer(from) => *const c_void,
            agents[1] => hsa_agent_t, len => u64, count => u32, after => *const hsa_signal_t, done => hsa_signal_t
        ))
    }

    fn copy_rows(&self, operands: &mut Operands<'_>) -> hsa_status_t {
        let (to, from) = (
            self.pick(&MEMORY, operands).value,
            self.pick(&MEMORY, operands).value,
        );
        let pitch = operands.of(&PITCHES);
        let (x, y) = (operands.of(&WIDTHS), operands.of(&HEIGHTS));
        let choice = operands.byte();
        let z = HEIGHTS[usize::from(choice) % HEIGHTS.len()];
        let slice = PITCHES[usize::from(choice >> 3) % PITCHES.len()];
        let done = self.signal(operands);
        let side = |address| hsa_pitched_ptr_t {
            base: pointer(address),
            pitch: pitch as usize,
            slice: slice as usize,
        };
        let (to, from) = (side(to), side(from));
        let place = hsa_dim3_t {
            x: u32::from(choice >> 7),
            y: 0,
            z: 0,
        };
        let range = hsa_dim3_t { x, y, z };
        hsa!(hsa_amd_memory_async_copy_rect(
            &raw const to => *const hsa_pitched_ptr_t, &raw const place => *const hsa_dim3_t,
            &raw const from => *const hsa_pitched_ptr_t, &raw const place => *const hsa_dim3_t,
            &raw const range => *const hsa_dim3_t, self.world.gpu => hsa_agent_t,
            u32::from(choice % 5) => u32, 0 => u32, null() => *const hsa_signal_t, done => hsa_signal_t
        ))
    }

    fn describe(&self, address: u64, operands: &mut Operands<'_>) -> hsa_status_t {
        // SAFETY: a struct of numbers, pointers and handles, for which zeros are valid.
        let mut info: hsa_amd_pointer_info_t = unsafe { std::mem::zeroed() };
        info.size = operands.of(&[size_of_val(&info) as u32, 8, 4, 0]);
        let info = if operands.is_rare(16) {
            null_mut()
        } else {
            &raw mut info
        };
        let (mut count, mut agents) = (0u32, null_mut::<hsa_agent_t>());
        let choice = operands.byte() % 4;
        let count = if choice == 1 {
            &raw mut count
        } else {
            null_mut()
        };
        let list = if matches!(choice, 1 | 2) {
            &raw mut agents
        } else {
            null_mut()
        };
        let status = hsa!(hsa_amd_pointer_info(
            pointer(address) => *const c_void, info => *mut hsa_amd_pointer_info_t, null() => *const c_void,
            count => *mut u32, list => *mut *mut hsa_agent_t
        ));
        // SAFETY: null, or memory of C's library, which nothing else has.
        unsafe { libc::free(agents.cast()) };
        status
    }
}
