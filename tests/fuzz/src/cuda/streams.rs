//! Calls for streams and events, and functions of the host in streams.

use std::collections::hash_map::Entry;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

use super::driver::cu;
use super::perform::Call;
use super::sequence::{Kind, MAX_WAITS, MEMORY, Sequence, Waits};
use crate::input::Operands;
use crate::objects::part;
use crate::panics;

/// Calls of functions of the host.
static HOST_CALLS: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_: *mut c_void) {
    // Relaxed: a number by itself.
    HOST_CALLS.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn count_result(_: u64, _: u32, _: *mut c_void) {
    HOST_CALLS.fetch_add(1, Ordering::Relaxed);
}

/// Calls the driver, which a function in a stream must not do: it would wait for itself.
extern "C" fn misuse(context: *mut c_void) {
    let context = context.addr() as u64;
    let pushed = cu!(cuCtxPushCurrent_v2(context => u64));
    let waited = cu!(cuCtxSynchronize());
    let destroyed = cu!(cuCtxDestroy_v2(context => u64));
    panics::expect(
        pushed != 0 && waited != 0 && destroyed != 0,
        "a call in a stream's function was successful",
    );
    count(null_mut());
}

type Function = extern "C" fn(*mut c_void);
type Callback = extern "C" fn(u64, u32, *mut c_void);

impl Sequence<'_> {
    pub(super) fn use_streams(&mut self, call: Call, operands: &mut Operands<'_>) -> u32 {
        match call {
            Call::CreateStream => {
                let flags = operands.of(&[0, 1, 0, 1, 2]);
                let has_priority = operands.byte() % 2 == 1;
                let priority = operands.of(&[0, -1, -9, 7]);
                self.make(Kind::Stream, 0, operands, |out| match has_priority {
                    false => cu!(cuStreamCreate(out => *mut u64, flags => u32)),
                    true => cu!(cuStreamCreateWithPriority(
                        out => *mut u64, flags => u32, priority => i32
                    )),
                })
            }
            Call::DestroyStream => {
                let stream = self.pick_own(&[Kind::Stream], operands);
                let code = cu!(cuStreamDestroy_v2(stream => u64));
                self.ended(code, stream)
            }
            Call::Synchronize => {
                let stream = self.stream(operands);
                match operands.byte() % 4 {
                    0 => cu!(cuStreamSynchronize(stream => u64)),
                    1 => cu!(cuStreamSynchronize_ptsz(stream => u64)),
                    2 => cu!(cuStreamQuery(stream => u64)),
                    _ => {
                        let mut flags = 0u32;
                        cu!(cuStreamGetFlags(stream => u64, &raw mut flags => *mut u32))
                    }
                }
            }
            Call::CreateEvent => {
                let flags = operands.of(&[0, 1, 2, 3, 8, u32::MAX]);
                self.make(
                    Kind::Event,
                    0,
                    operands,
                    |out| cu!(cuEventCreate(out => *mut u64, flags => u32)),
                )
            }
            Call::DestroyEvent => {
                let event = self.pick_own(&[Kind::Event], operands);
                let code = cu!(cuEventDestroy_v2(event => u64));
                self.ended(code, event)
            }
            Call::RecordEvent => {
                let (event, stream) = (
                    self.pick(&[Kind::Event], operands).value,
                    self.stream(operands),
                );
                cu!(cuEventRecord(event => u64, stream => u64))
            }
            Call::WaitEvent => {
                let stream = self.stream(operands);
                // Events of all contexts.
                let event = self.pick_any(&[Kind::Event], operands);
                let flags = operands.of(&[0, 0, 1, 2]);
                cu!(cuStreamWaitEvent(stream => u64, event => u64, flags => u32))
            }
            Call::SynchronizeEvent => {
                let event = self.pick(&[Kind::Event], operands).value;
                cu!(cuEventSynchronize(event => u64))
            }
            Call::QueryEvents => {
                let events = [0; 2].map(|_| self.pick(&[Kind::Event], operands).value);
                let mut time = 0f32;
                let time = if operands.is_rare(16) {
                    null_mut()
                } else {
                    &raw mut time
                };
                match operands.byte() % 2 {
                    0 => cu!(cuEventQuery(events[0] => u64)),
                    _ => {
                        cu!(cuEventElapsedTime(time => *mut f32, events[0] => u64, events[1] => u64))
                    }
                }
            }
            Call::QueueFunction => self.call_host(operands),
            Call::WaitValue => self.wait_value(operands),
            _ => {
                let stream = self.stream(operands);
                let memory = self.pick(&MEMORY, operands);
                let (address, _) = part(&memory, operands.byte(), 0);
                let flags = operands.of(&[0, 0, 0, 1, 2]);
                match operands.byte() % 2 {
                    0 => cu!(cuStreamWriteValue32_v2(
                        stream => u64, address => u64, 7 => u32, flags => u32
                    )),
                    _ => cu!(cuStreamWriteValue64_v2(
                        stream => u64, address => u64, 7 => u64, flags => u32
                    )),
                }
            }
        }
    }

    fn call_host(&self, operands: &mut Operands<'_>) -> u32 {
        let stream = self.stream(operands);
        let context: *mut c_void = std::ptr::without_provenance_mut(Self::current() as usize);
        match operands.byte() % 8 {
            0 | 2 => cu!(cuLaunchHostFunc(
                stream => u64, Some(count) => Option<Function>, context => *mut c_void
            )),
            1 | 3 => cu!(cuStreamAddCallback(
                stream => u64, Some(count_result) => Option<Callback>, context => *mut c_void, 0 => u32
            )),
            4 => cu!(cuLaunchHostFunc(
                stream => u64, None => Option<Function>, context => *mut c_void
            )),
            5 => cu!(cuStreamAddCallback(
                stream => u64, None => Option<Callback>, context => *mut c_void, 0 => u32
            )),
            6 => cu!(cuStreamAddCallback(
                stream => u64, Some(count_result) => Option<Callback>, context => *mut c_void, 1 => u32
            )),
            _ => cu!(cuLaunchHostFunc(
                stream => u64, Some(misuse) => Option<Function>, context => *mut c_void
            )),
        }
    }

    /// The words that streams of the current context wait for.
    fn waits(&mut self) -> Option<&mut Waits> {
        let context = Self::current();
        let vacant = match self.waits.entry(context) {
            Entry::Occupied(waits) => return Some(waits.into_mut()),
            Entry::Vacant(vacant) => vacant,
        };
        let (mut words, mut releaser) = (0u64, 0u64);
        let code = cu!(cuStreamCreate(&raw mut releaser => *mut u64, 1 => u32));
        if code != 0 {
            return None;
        }
        let bytes = 8 * MAX_WAITS;
        if cu!(cuMemAlloc_v2(&raw mut words => *mut u64, bytes => u64)) != 0
            || cu!(cuMemsetD8_v2(words => u64, 0 => u8, bytes => u64)) != 0
        {
            // The context is broken, or full; a stream of a broken one goes with it.
            let _ = cu!(cuMemFree_v2(words => u64));
            let _ = cu!(cuStreamDestroy_v2(releaser => u64));
            return None;
        }
        Some(vacant.insert(Waits {
            words,
            releaser,
            next: 0,
        }))
    }

    /// Makes a stream wait for a word, and another one write it.
    fn wait_value(&mut self, operands: &mut Operands<'_>) -> u32 {
        let stream = self.stream(operands);
        let condition = u32::from(operands.byte() % 8);
        let flags = if operands.byte() % 2 == 1 { 1 << 30 } else { 0 };
        let is_long = operands.byte() % 2 == 1;
        let place = operands.byte();
        let strange = self.pick(&MEMORY, operands);
        let Some(waits) = self.waits() else {
            return cu!(cuCtxSynchronize());
        };
        if waits.next == MAX_WAITS {
            return cu!(cuCtxSynchronize());
        }
        // Its own word, or what is rejected: none, or one that is not aligned or beyond the end.
        let word = waits.words + 8 * waits.next;
        let (address, is_valid) = match place {
            0..224 => (word, true),
            224..232 => (word + 1, false),
            232..240 => (waits.words + 8 * MAX_WAITS, false),
            240..248 => (strange.value | 1, false),
            _ => (0, false),
        };
        waits.next += 1;
        let releaser = waits.releaser;
        let flags = condition | flags;
        let code = match is_long {
            false => cu!(cuStreamWaitValue32_v2(
                stream => u64, address => u64, 5 => u32, flags => u32
            )),
            true => cu!(cuStreamWaitValue64_v2(
                stream => u64, address => u64, 5 => u64, flags => u32
            )),
        };
        if code == 0 {
            assert!(
                is_valid && condition < 4,
                "a wait for {address:#x}, condition {condition}"
            );
            // If the context is broken by now, this does not succeed, and the wait has ended.
            let _ = cu!(cuStreamWriteValue64_v2(
                releaser => u64, address => u64, 5 => u64, 0 => u32
            ));
        }
        code
    }
}
