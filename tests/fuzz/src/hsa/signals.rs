//! Calls for signals.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};

use hsa_runtime_sys::*;

use super::perform::Call;
use super::runtime::hsa;
use super::sequence::{Kind, Sequence};
use crate::input::Operands;

/// Calls of functions for changes.
static HANDLED: AtomicU64 = AtomicU64::new(0);

/// Asks to be called again, but not always: a signal may stay as it is.
extern "C" fn handled(_: i64, again: *mut c_void) -> bool {
    // Relaxed: a number by itself.
    let number = HANDLED.fetch_add(1, Ordering::Relaxed);
    !again.is_null() && !number.is_multiple_of(4)
}

extern "C" fn called(_: *mut c_void) {
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

type OnChange = extern "C" fn(i64, *mut c_void) -> bool;
type Function = extern "C" fn(*mut c_void);

const VALUES: [i64; 8] = [0, 1, -1, 2, i64::MAX, i64::MIN, 7, 64];

impl Sequence<'_> {
    pub(super) fn use_signals(&mut self, call: Call, operands: &mut Operands<'_>) -> hsa_status_t {
        match call {
            Call::CreateSignal => {
                let value = operands.of(&VALUES);
                let count = operands.of(&[0, 0, 0, 1, 2]);
                let agents = [self.agent(operands), self.world.cpu];
                let agents = if operands.is_rare(16) {
                    null()
                } else {
                    agents.as_ptr()
                };
                let attributes = operands.of(&[0, 1, 2]);
                let variant = operands.byte();
                self.make(Kind::Signal, 0, operands, |out| match variant % 2 {
                    0 => hsa!(hsa_signal_create(
                        value => i64, count => u32, agents => *const hsa_agent_t, out => *mut u64
                    )),
                    _ => hsa!(hsa_amd_signal_create(
                        value => i64, count => u32, agents => *const hsa_agent_t, attributes => u64,
                        out => *mut u64
                    )),
                })
            }
            // Those of these functions that return no status end the process for others than signals.
            Call::Store | Call::Add | Call::Load | Call::Wait => {
                let Some(handle) = self.live(&[Kind::Signal], operands) else {
                    return HSA_STATUS_ERROR_INVALID_SIGNAL;
                };
                change(call, hsa_signal_t { handle }, operands);
                HSA_STATUS_SUCCESS
            }
            Call::WaitAny => self.wait_any(operands),
            Call::CreateGroup => {
                let signals = [self.signal(operands), self.signal(operands)];
                let agents = [self.agent(operands)];
                let counts = operands.of(&[(2, 1), (1, 1), (2, 1), (0, 1), (1, 0)]);
                let is_null = operands.is_rare(8);
                let signals = if is_null { null() } else { signals.as_ptr() };
                self.make(Kind::Group, 0, operands, |out| {
                    hsa!(hsa_signal_group_create(
                        counts.0 => u32, signals => *const hsa_signal_t,
                        counts.1 => u32, agents.as_ptr() => *const hsa_agent_t, out => *mut u64
                    ))
                })
            }
            Call::WaitGroup => {
                let handle = self.handle(Kind::Group, operands);
                // Conditions that are met, or are none.
                let condition = operands.of(&[
                    HSA_SIGNAL_CONDITION_GTE,
                    HSA_SIGNAL_CONDITION_GTE,
                    4,
                    u32::MAX,
                ]);
                let (conditions, others) = ([condition; 2], [i64::MIN; 2]);
                let (mut signal, mut value) = (hsa_signal_t { handle: 0 }, 0i64);
                let others = if operands.is_rare(16) {
                    null()
                } else {
                    others.as_ptr()
                };
                let signal = if operands.is_rare(16) {
                    null_mut()
                } else {
                    &raw mut signal
                };
                hsa!(hsa_signal_group_wait_any_scacquire(
                    hsa_signal_group_t { handle } => hsa_signal_group_t, conditions.as_ptr() => *const u32,
                    others => *const i64, HSA_WAIT_STATE_BLOCKED => u32, signal => *mut hsa_signal_t,
                    &raw mut value => *mut i64
                ))
            }
            Call::Handle => {
                let signal = self.signal(operands);
                let condition = operands.of(&[0, 1, 2, 3, 0, 4, u32::MAX]);
                let value = operands.of(&VALUES);
                let again = std::ptr::without_provenance_mut(usize::from(operands.byte() % 2));
                let function = if operands.is_rare(16) {
                    None
                } else {
                    Some(handled as OnChange)
                };
                hsa!(hsa_amd_signal_async_handler(
                    signal => hsa_signal_t, condition => u32, value => i64, function => Option<OnChange>,
                    again => *mut c_void
                ))
            }
            Call::RunLater => {
                let function = if operands.is_rare(64) {
                    None
                } else {
                    Some(called as Function)
                };
                hsa!(hsa_amd_async_function(function => Option<Function>, null_mut() => *mut c_void))
            }
            _ => {
                let signal = self.signal(operands);
                let mut place = 0u64;
                let place = if operands.is_rare(16) {
                    null_mut()
                } else {
                    &raw mut place
                };
                hsa!(hsa_amd_signal_value_pointer(signal => hsa_signal_t, place => *mut u64))
            }
        }
    }

    fn wait_any(&self, operands: &mut Operands<'_>) -> hsa_status_t {
        let signals = [self.signal(operands), self.signal(operands)];
        let condition = operands.of(&[0, 1, 2, 3, 4, u32::MAX]);
        let (conditions, others) = ([condition; 2], [operands.of(&VALUES); 2]);
        let others = if operands.is_rare(16) {
            null()
        } else {
            others.as_ptr()
        };
        let count = operands.of(&[2, 1, 0]);
        let mut values = [0i64; 2];
        let result = match operands.byte() % 2 {
            0 => hsa!(hsa_amd_signal_wait_any(
                count => u32, signals.as_ptr() => *const hsa_signal_t, conditions.as_ptr() => *const u32,
                others => *const i64, 1000 => u64, HSA_WAIT_STATE_BLOCKED => u32, values.as_mut_ptr() => *mut i64
            ) -> u32),
            _ => hsa!(hsa_amd_signal_wait_all(
                count => u32, signals.as_ptr() => *const hsa_signal_t, conditions.as_ptr() => *const u32,
                others => *const i64, 1000 => u64, HSA_WAIT_STATE_BLOCKED => u32, values.as_mut_ptr() => *mut i64
            ) -> u32),
        };
        match result {
            u32::MAX => HSA_STATUS_ERROR,
            at => {
                assert!(at < 2, "the number of a signal");
                HSA_STATUS_SUCCESS
            }
        }
    }
}

/// A call with a signal that is there.
fn change(call: Call, signal: hsa_signal_t, operands: &mut Operands<'_>) {
    let (value, which) = (operands.of(&VALUES), operands.byte());
    match (call, which % 4) {
        (Call::Store, 0) => {
            hsa!(hsa_signal_store_screlease(signal => hsa_signal_t, value => i64) -> ())
        }
        (Call::Store, 1) => {
            hsa!(hsa_signal_silent_store_relaxed(signal => hsa_signal_t, value => i64) -> ())
        }
        (Call::Store, _) => {
            hsa!(hsa_signal_exchange_acq_rel(signal => hsa_signal_t, value => i64) -> i64);
        }
        (Call::Add, 0) => hsa!(hsa_signal_add_relaxed(signal => hsa_signal_t, value => i64) -> ()),
        (Call::Add, 1) => {
            hsa!(hsa_signal_subtract_screlease(signal => hsa_signal_t, value => i64) -> ())
        }
        (Call::Add, 2) => {
            hsa!(hsa_signal_xor_scacq_screl(signal => hsa_signal_t, value => i64) -> ())
        }
        (Call::Add, _) => {
            hsa!(hsa_signal_cas_scacq_screl(signal => hsa_signal_t, value => i64, 0 => i64) -> i64);
        }
        (Call::Load, _) => {
            hsa!(hsa_signal_load_scacquire(signal => hsa_signal_t) -> i64);
        }
        _ => {
            hsa!(hsa_signal_wait_scacquire(
                signal => hsa_signal_t, u32::from(which % 6) => u32, value => i64, 1000 => u64,
                HSA_WAIT_STATE_BLOCKED => u32
            ) -> i64);
        }
    }
}
