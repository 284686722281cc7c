//! Calls for memory.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::driver::cu;
use super::perform::Call;
use super::sequence::{Kind, MEMORY, Sequence};
use crate::host_memory::{self, HOST_MEMORY};
use crate::input::Operands;
use crate::objects::{Object, part};

/// Sizes of memory, some of which are impossible.
const SIZES: [u64; 16] = [
    4,
    8,
    64,
    256,
    1024,
    4096,
    65536,
    1 << 20,
    1,
    3,
    0,
    5 << 20,
    32 << 20,
    1 << 40,
    u64::MAX - 255,
    u64::MAX,
];

/// Bytes between rows, bytes of rows, and rows.
const PITCHES: [u64; 8] = [0, 4, 16, 64, 512, 7, 1 << 40, u64::MAX];
const WIDTHS: [u64; 8] = [1, 2, 4, 8, 16, 0, 1 << 62, u64::MAX];
const HEIGHTS: [u64; 8] = [1, 2, 3, 4, 8, 0, 1 << 40, u64::MAX];

impl Sequence<'_> {
    pub(super) fn use_memory(&mut self, call: Call, operands: &mut Operands<'_>) -> u32 {
        match call {
            Call::Alloc
            | Call::AllocPitch
            | Call::AllocHost
            | Call::AllocManaged
            | Call::AllocAsync => self.alloc(call, operands),
            Call::Free => {
                let address =
                    self.pick_own(&[Kind::Block, Kind::AsyncBlock, Kind::Managed], operands);
                let code = cu!(cuMemFree_v2(address => u64));
                self.ended(code, address)
            }
            Call::FreeHost => {
                let address = self.pick_own(&[Kind::Pinned], operands);
                let code = cu!(cuMemFreeHost(address => u64));
                self.ended(code, address)
            }
            Call::FreeAsync => {
                let address = self.pick_own(&[Kind::AsyncBlock], operands);
                let stream = self.stream(operands);
                let code = cu!(cuMemFreeAsync(address => u64, stream => u64));
                self.ended(code, address)
            }
            Call::Register => self.register(operands),
            Call::Unregister => {
                let address = self.pick_own(&[Kind::Registered], operands);
                let code = cu!(cuMemHostUnregister(address => u64));
                self.ended(code, address)
            }
            Call::CopyRows => self.copy_rows(operands),
            Call::Fill => self.fill(operands),
            Call::FillRows => self.fill_rows(operands),
            Call::Describe => self.describe(operands),
            Call::CreatePool | Call::DestroyPool | Call::UsePool | Call::SetPool => {
                self.use_pool(call, operands)
            }
            _ => self.copy(call, operands),
        }
    }

    fn alloc(&mut self, call: Call, operands: &mut Operands<'_>) -> u32 {
        let bytes = operands.of(&SIZES);
        let choice = operands.byte();
        match call {
            Call::Alloc => self.make(
                Kind::Block,
                bytes,
                operands,
                |out| cu!(cuMemAlloc_v2(out => *mut u64, bytes => u64)),
            ),
            Call::AllocPitch => {
                let rows = HEIGHTS[usize::from(choice) % HEIGHTS.len()];
                let element = operands.of(&[4, 8, 16, 5]);
                let mut pitch = 0u64;
                let pitch = if operands.is_rare(8) {
                    null_mut()
                } else {
                    &raw mut pitch
                };
                self.make(Kind::Block, bytes, operands, |out| {
                    cu!(cuMemAllocPitch_v2(
                        out => *mut u64, pitch => *mut u64, bytes => u64, rows => u64, element => u32
                    ))
                })
            }
            Call::AllocHost => {
                let flags = [2, 0, 1, 3, 6, 8, u32::MAX][usize::from(choice) % 7];
                self.make(
                    Kind::Pinned,
                    bytes,
                    operands,
                    |out| cu!(cuMemHostAlloc(out => *mut u64, bytes => u64, flags => u32)),
                )
            }
            Call::AllocManaged => {
                let flags = [1, 2, 0, 4][usize::from(choice) % 4];
                self.make(
                    Kind::Managed,
                    bytes,
                    operands,
                    |out| cu!(cuMemAllocManaged(out => *mut u64, bytes => u64, flags => u32)),
                )
            }
            _ => {
                let current = Some(Self::current());
                let stream = self.objects.pick(&[Kind::Stream], current, choice).value;
                let pool = operands.is_rare(64);
                let pool = pool.then(|| self.pick_any(&[Kind::Pool], operands));
                self.make(Kind::AsyncBlock, bytes, operands, |out| match pool {
                    None => cu!(cuMemAllocAsync(out => *mut u64, bytes => u64, stream => u64)),
                    Some(pool) => cu!(cuMemAllocFromPoolAsync(
                        out => *mut u64, bytes => u64, pool => u64, stream => u64
                    )),
                })
            }
        }
    }

    fn register(&mut self, operands: &mut Operands<'_>) -> u32 {
        let bytes = operands.of(&SIZES);
        let offset = 64 * u64::from(operands.byte());
        let flags = operands.of(&[0, 1, 2, 3, 8, 64, u32::MAX]);
        let is_there = offset
            .checked_add(bytes)
            .is_some_and(|end| end <= host_memory::BYTES);
        let address = match operands.byte() {
            240.. => 0,
            // No memory of the host.
            224.. => self.pick(&[Kind::Block], operands).value | 1 << 60,
            _ if is_there => HOST_MEMORY.mapped + offset,
            _ => 0,
        };
        let code = cu!(cuMemHostRegister_v2(address => u64, bytes => u64, flags => u32));
        if code == 0 {
            assert!(
                address != 0 && address >> 56 == 0,
                "{address:#x} was registered"
            );
            self.objects
                .add(Kind::Registered, address, Self::current(), bytes);
        }
        code
    }

    /// A part of memory.
    fn part(&self, operands: &mut Operands<'_>) -> (Object<Kind>, u64, u64) {
        let memory = self.pick(&MEMORY, operands);
        let (offset, len) = (operands.byte(), operands.byte());
        let (address, len) = part(&memory, offset, len);
        (memory, address, len)
    }

    fn copy(&mut self, call: Call, operands: &mut Operands<'_>) -> u32 {
        let (object, address, len) = self.part(operands);
        match call {
            Call::CopyFrom | Call::CopyTo => {
                let host = Self::host(len, operands);
                let is_later = operands.byte() % 2 == 1;
                let stream = self.stream(operands);
                match (call, is_later) {
                    (Call::CopyFrom, false) => {
                        cu!(cuMemcpyDtoH_v2(host => u64, address => u64, len => u64))
                    }
                    (Call::CopyFrom, true) => {
                        cu!(cuMemcpyDtoHAsync_v2(host => u64, address => u64, len => u64, stream => u64))
                    }
                    (_, false) => cu!(cuMemcpyHtoD_v2(address => u64, host => u64, len => u64)),
                    (_, true) => {
                        cu!(cuMemcpyHtoDAsync_v2(address => u64, host => u64, len => u64, stream => u64))
                    }
                }
            }
            Call::CopyPeer => {
                let from = self.objects.pick(&MEMORY, None, operands.byte());
                let rare = operands.byte();
                let contexts = match rare {
                    240.. => [self.pick_any(&[Kind::Context], operands), from.owner],
                    _ => [object.owner, from.owner],
                };
                let stream = self.stream(operands);
                let [to_context, from_context] = contexts;
                if rare.is_multiple_of(2) {
                    cu!(cuMemcpyPeer(
                        address => u64, to_context => u64, from.value => u64, from_context => u64, len => u64
                    ))
                } else {
                    cu!(cuMemcpyPeerAsync(
                        address => u64, to_context => u64, from.value => u64, from_context => u64, len => u64,
                        stream => u64
                    ))
                }
            }
            _ => {
                let from = self.pick(&MEMORY, operands);
                let from = part(&from, operands.byte(), 0).0;
                let is_later = operands.byte() % 2 == 1;
                let stream = self.stream(operands);
                match (call, is_later) {
                    (Call::CopyWithin, false) => {
                        cu!(cuMemcpyDtoD_v2(address => u64, from => u64, len => u64))
                    }
                    (Call::CopyWithin, true) => {
                        cu!(cuMemcpyDtoDAsync_v2(address => u64, from => u64, len => u64, stream => u64))
                    }
                    (_, is_later) => {
                        let (to, from) = (self.checked(address, len), self.checked(from, len));
                        if is_later {
                            cu!(cuMemcpyAsync(to => u64, from => u64, len => u64, stream => u64))
                        } else {
                            cu!(cuMemcpy(to => u64, from => u64, len => u64))
                        }
                    }
                }
            }
        }
    }

    /// One side of a copy of rows: the number of its kind, and the addresses for the host and the device.
    fn side(&self, choice: u8, extent: Option<u64>) -> (u64, u64, u64) {
        let memory = self.objects.pick(&MEMORY, Some(Self::current()), choice);
        match choice {
            // The host's memory, of which nobody could know that it is too small.
            128..160 => {
                let is_there = extent.is_some_and(|extent| extent <= host_memory::BYTES);
                (1, if is_there { HOST_MEMORY.copied } else { 0 }, 0)
            }
            // Either.
            160..168 => (4, 0, self.checked(memory.value, extent.unwrap_or(u64::MAX))),
            168..172 => (3, 0, memory.value),
            172..176 => (77, 0, memory.value),
            _ => (2, 0, memory.value),
        }
    }

    fn copy_rows(&self, operands: &mut Operands<'_>) -> u32 {
        let choices = [operands.byte(), operands.byte()];
        let pitch = operands.of(&PITCHES);
        let width = operands.of(&WIDTHS);
        let height = operands.of(&HEIGHTS);
        let shape = operands.byte();
        let place = operands.byte();
        let (x, y) = (u64::from(place & 7), u64::from(place >> 6));
        let stream = self
            .objects
            .pick(&[Kind::Stream], Some(Self::current()), place)
            .value;
        let is_volume = shape % 4 >= 2;
        let depth = if is_volume {
            HEIGHTS[usize::from(shape >> 5)]
        } else {
            1
        };
        // Slices have as many rows as are copied, or overlap.
        let slice = if shape & 16 == 0 {
            height.saturating_add(y)
        } else {
            y
        };
        let effective = if pitch == 0 && !is_volume {
            width
        } else {
            pitch
        };
        let extent = || {
            let rows = depth
                .checked_sub(1)?
                .checked_mul(slice)?
                .checked_add(y)?
                .checked_add(height)?;
            rows.checked_mul(effective)?
                .checked_add(x)?
                .checked_add(width)
        };
        let sides = choices.map(|choice| self.side(choice, extent()));
        let is_later = shape % 2 == 1;
        let is_null = operands.is_rare(8);
        if is_volume {
            let side = |(kind, host, device)| {
                let array = 0;
                [x, y, 0, 0, kind, host, device, array, 0, pitch, slice]
            };
            let [to, from] = sides.map(side);
            let copy = [&from[..], &to, &[width, height, depth]].concat();
            let copy = if is_null { null() } else { copy.as_ptr() };
            if is_later {
                cu!(cuMemcpy3DAsync_v2(copy => *const u64, stream => u64))
            } else {
                cu!(cuMemcpy3D_v2(copy => *const u64))
            }
        } else {
            let side = |(kind, host, device)| [x, y, kind, host, device, 0, pitch];
            let [to, from] = sides.map(side);
            let copy = [&from[..], &to, &[width, height]].concat();
            let copy = if is_null { null() } else { copy.as_ptr() };
            if is_later {
                cu!(cuMemcpy2DAsync_v2(copy => *const u64, stream => u64))
            } else {
                cu!(cuMemcpy2D_v2(copy => *const u64))
            }
        }
    }

    fn fill(&self, operands: &mut Operands<'_>) -> u32 {
        let (_, address, len) = self.part(operands);
        let (which, value) = (operands.byte() % 6, operands.byte());
        let stream = self.stream(operands);
        // As many values as fit, or far more.
        let count = |size| if len > 1 << 32 { len } else { len / size };
        match which {
            0 => cu!(cuMemsetD8_v2(address => u64, value => u8, len => u64)),
            1 => cu!(cuMemsetD8Async(address => u64, value => u8, len => u64, stream => u64)),
            2 => cu!(cuMemsetD16_v2(address => u64, value.into() => u16, count(2) => u64)),
            3 => {
                cu!(cuMemsetD16Async(address => u64, value.into() => u16, count(2) => u64, stream => u64))
            }
            4 => cu!(cuMemsetD32_v2(address => u64, value.into() => u32, count(4) => u64)),
            _ => {
                cu!(cuMemsetD32Async(address => u64, value.into() => u32, count(4) => u64, stream => u64))
            }
        }
    }

    fn fill_rows(&self, operands: &mut Operands<'_>) -> u32 {
        let memory = self.pick(&MEMORY, operands);
        let (address, _) = part(&memory, operands.byte(), 0);
        let pitch = operands.of(&PITCHES);
        let width = operands.of(&WIDTHS);
        let height = operands.of(&HEIGHTS);
        let which = operands.byte() % 4;
        let stream = self.stream(operands);
        match which {
            0 => cu!(cuMemsetD2D8_v2(
                address => u64, pitch => u64, 7 => u8, width => u64, height => u64
            )),
            1 => cu!(cuMemsetD2D16Async(
                address => u64, pitch => u64, 7 => u16, width => u64, height => u64, stream => u64
            )),
            2 => cu!(cuMemsetD2D32_v2(
                address => u64, pitch => u64, 7 => u32, width => u64, height => u64
            )),
            _ => cu!(cuMemsetD2D8Async(
                address => u64, pitch => u64, 7 => u8, width => u64, height => u64, stream => u64
            )),
        }
    }

    fn describe(&self, operands: &mut Operands<'_>) -> u32 {
        let memory = self.pick(&MEMORY, operands);
        let (address, len) = part(&memory, operands.byte(), 15);
        let which = operands.byte();
        let attribute = u32::from(operands.byte() % 32);
        let mut room = [0u64; 2];
        let out = if operands.is_rare(16) {
            null_mut()
        } else {
            room.as_mut_ptr()
        };
        let stream = self.stream(operands);
        match which % 8 {
            0 => {
                cu!(cuMemGetAddressRange_v2(out => *mut u64, null_mut() => *mut u64, address => u64))
            }
            1 => {
                cu!(cuMemHostGetDevicePointer_v2(out => *mut u64, address => u64, attribute / 31 => u32))
            }
            2 => {
                cu!(cuPointerGetAttribute(out.cast() => *mut c_void, attribute => u32, address => u64))
            }
            3 => {
                let which = [attribute, 1, attribute / 2];
                let data = [out; 3];
                let data = if attribute % 16 == 0 {
                    null()
                } else {
                    data.as_ptr()
                };
                cu!(cuPointerGetAttributes(
                    3 => u32, which.as_ptr() => *const u32, data => *const *mut u64, address => u64
                ))
            }
            4 => cu!(cuMemHostGetFlags(out.cast() => *mut u32, address => u64)),
            5 => cu!(cuMemPrefetchAsync(address => u64, len => u64, 0 => i32, stream => u64)),
            6 => cu!(cuMemAdvise(address => u64, len => u64, attribute => u32, 0 => i32)),
            _ => {
                cu!(cuPointerSetAttribute(out.cast() => *const c_void, attribute => u32, address => u64))
            }
        }
    }

    fn use_pool(&mut self, call: Call, operands: &mut Operands<'_>) -> u32 {
        match call {
            Call::CreatePool => {
                let properties = [0u64; 11];
                let properties = match operands.is_rare(16) {
                    true => null(),
                    false => properties.as_ptr(),
                };
                self.make(
                    Kind::Pool,
                    0,
                    operands,
                    |out| cu!(cuMemPoolCreate(out => *mut u64, properties => *const u64)),
                )
            }
            Call::DestroyPool => {
                let pool = self.pick_any(&[Kind::Pool], operands);
                let code = cu!(cuMemPoolDestroy(pool => u64));
                assert!(
                    code != 0 || !self.gpus.pools.contains(&pool),
                    "a GPU's default pool was destroyed"
                );
                self.ended(code, pool)
            }
            Call::UsePool => {
                let gpu = self.gpu(operands);
                let pool = self.pick_any(&[Kind::Pool], operands);
                cu!(cuDeviceSetMemPool(gpu => i32, pool => u64))
            }
            _ => {
                let pool = self.pick_any(&[Kind::Pool], operands);
                let attribute = u32::from(operands.byte() % 12);
                let mut value = u64::from(operands.byte());
                let value = if operands.is_rare(16) {
                    null_mut()
                } else {
                    &raw mut value
                };
                if operands.byte().is_multiple_of(2) {
                    cu!(cuMemPoolSetAttribute(pool => u64, attribute => u32, value => *const u64))
                } else {
                    cu!(cuMemPoolGetAttribute(pool => u64, attribute => u32, value => *mut u64))
                }
            }
        }
    }
}
