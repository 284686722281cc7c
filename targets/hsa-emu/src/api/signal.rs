//! Signals: creating them, waiting for them, and functions for their changes.

use std::ffi::c_void;

use hsa_runtime_sys::*;

use crate::pointers::{In, Out};
use crate::runtime::{Runtime, answer, known_signal, wait_for};
use crate::signal::{Call, Condition, Function, Handler};
use crate::status::{Answer, Status};

fn create(
    runtime: &Runtime,
    value: i64,
    (count, consumers): (u32, In<hsa_agent_t>),
    signal: Out<hsa_signal_t>,
) -> Answer {
    if signal.is_null() || count > 0 && consumers.is_null() {
        return Err(Status::INVALID_ARGUMENT);
    }
    let consumers = consumers.all(count as usize)?;
    for (at, &consumer) in consumers.iter().enumerate() {
        runtime.agent(consumer)?;
        if consumers[..at]
            .iter()
            .any(|other| other.handle == consumer.handle)
        {
            return Err(Status::INVALID_ARGUMENT);
        }
    }
    signal.set(runtime.signals.create(value)?.handle())
}

pub extern "C" fn hsa_signal_create(
    value: i64,
    count: u32,
    consumers: In<hsa_agent_t>,
    signal: Out<hsa_signal_t>,
) -> hsa_status_t {
    answer("hsa_signal_create", |runtime| {
        create(runtime, value, (count, consumers), signal)
    })
}

pub extern "C" fn hsa_amd_signal_create(
    value: i64,
    count: u32,
    consumers: In<hsa_agent_t>,
    attributes: u64,
    signal: Out<hsa_signal_t>,
) -> hsa_status_t {
    /// Attributes that are accepted: `HSA_AMD_SIGNAL_AMD_GPU_ONLY`.
    const KNOWN: u64 = 1;
    answer("hsa_amd_signal_create", |runtime| {
        if attributes & !KNOWN != 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        create(runtime, value, (count, consumers), signal)
    })
}

pub extern "C" fn hsa_signal_destroy(signal: hsa_signal_t) -> hsa_status_t {
    answer("hsa_signal_destroy", |runtime| {
        if signal.handle == 0 || runtime.is_doorbell(signal) {
            return Err(Status::INVALID_ARGUMENT);
        }
        runtime.signals.destroy(signal, runtime.is_strict())
    })
}

pub extern "C" fn hsa_amd_signal_value_pointer(
    signal: hsa_signal_t,
    pointer: Out<*mut i64>,
) -> hsa_status_t {
    answer("hsa_amd_signal_value_pointer", |runtime| {
        let signal = runtime.signals.get(signal)?;
        if pointer.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        pointer.set(signal.expose())
    })
}

/// Waits; returns the value.
fn wait(
    function: &str,
    signal: hsa_signal_t,
    (kind, other): (hsa_signal_condition_t, i64),
    nanoseconds: u64,
) -> i64 {
    let signal = known_signal(function, signal);
    let waits = [(signal, Condition { kind, other })];
    let found = wait_for(&waits, nanoseconds);
    found.map_or_else(|| waits[0].0.get(), |(_, value)| value)
}

macro_rules! waits {
    ($($name:ident)*) => {$(
        pub extern "C" fn $name(
            signal: hsa_signal_t,
            condition: hsa_signal_condition_t,
            other: i64,
            nanoseconds: u64,
            _how: hsa_wait_state_t,
        ) -> i64 {
            wait(stringify!($name), signal, (condition, other), nanoseconds)
        }
    )*};
}

waits! {
    hsa_signal_wait_scacquire
    hsa_signal_wait_acquire
    hsa_signal_wait_relaxed
}

/// The number for "none".
const NONE: u32 = u32::MAX;

/// The signals of an array with conditions, but for those that are null, with their numbers.
fn list(
    runtime: &Runtime,
    count: u32,
    signals: &In<hsa_signal_t>,
    (conditions, others): (&In<hsa_signal_condition_t>, &In<i64>),
) -> Answer<Vec<(u32, hsa_signal_t, Condition)>> {
    let count = count as usize;
    let (signals, others) = (signals.all(count)?, others.all(count)?);
    let kinds = conditions.all(count)?.into_iter();
    let conditions = kinds
        .zip(others)
        .map(|(kind, other)| Condition { kind, other });
    let all = (0..).zip(signals).zip(conditions);
    let all = all.map(|((at, signal), condition)| (at, signal, condition));
    let all: Vec<_> = all.filter(|(_, signal, _)| signal.handle != 0).collect();
    for (_, signal, condition) in &all {
        runtime.signals.get(*signal)?;
        if !condition.is_valid() {
            return Err(Status::INVALID_ARGUMENT);
        }
    }
    Ok(all)
}

pub extern "C" fn hsa_amd_signal_wait_any(
    count: u32,
    signals: In<hsa_signal_t>,
    conditions: In<hsa_signal_condition_t>,
    others: In<i64>,
    nanoseconds: u64,
    _how: hsa_wait_state_t,
    value: Out<i64>,
) -> u32 {
    let mut result = NONE;
    answer("hsa_amd_signal_wait_any", |runtime| {
        let list = list(runtime, count, &signals, (&conditions, &others))?;
        let known = list.iter().map(|&(_, signal, condition)| {
            let signal = known_signal("hsa_amd_signal_wait_any", signal);
            (signal, condition)
        });
        if let Some((at, found)) = wait_for(&known.collect::<Vec<_>>(), nanoseconds) {
            value.set_if_wanted(found);
            result = list[at].0;
        }
        Ok(())
    });
    result
}

pub extern "C" fn hsa_amd_signal_wait_all(
    count: u32,
    signals: In<hsa_signal_t>,
    conditions: In<hsa_signal_condition_t>,
    others: In<i64>,
    nanoseconds: u64,
    _how: hsa_wait_state_t,
    values: Out<i64>,
) -> u32 {
    let mut result = NONE;
    answer("hsa_amd_signal_wait_all", |runtime| {
        let list = list(runtime, count, &signals, (&conditions, &others))?;
        let time = std::time::Duration::from_nanos(nanoseconds);
        let until = std::time::Instant::now().checked_add(time);
        let mut found = vec![0; count as usize];
        for (at, signal, condition) in list {
            let signal = known_signal("hsa_amd_signal_wait_all", signal);
            let wait = [(signal, condition)];
            let Some((_, value)) = crate::signal::wait_any(&wait, until) else {
                return Ok(());
            };
            found[at as usize] = value;
        }
        if !values.is_null() {
            values.set_all(found, count as usize)?;
        }
        result = 0;
        Ok(())
    });
    result
}

pub extern "C" fn hsa_amd_signal_async_handler(
    signal: hsa_signal_t,
    kind: hsa_signal_condition_t,
    other: i64,
    function: Option<Function>,
    argument: *mut c_void,
) -> hsa_status_t {
    answer("hsa_amd_signal_async_handler", |runtime| {
        let condition = Condition { kind, other };
        if !condition.is_valid() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let handler = Handler {
            signal: runtime.signals.take(signal)?,
            condition,
            function: function.ok_or(Status::INVALID_ARGUMENT)?,
            argument: argument.expose_provenance(),
        };
        let is_called = runtime.handlers.add(handler, &runtime.signals);
        is_called.then_some(()).ok_or(Status::OUT_OF_RESOURCES)
    })
}

pub extern "C" fn hsa_amd_async_function(
    function: Option<unsafe extern "C" fn(*mut c_void)>,
    argument: *mut c_void,
) -> hsa_status_t {
    answer("hsa_amd_async_function", |runtime| {
        let call = Call {
            function: function.ok_or(Status::INVALID_ARGUMENT)?,
            argument: argument.expose_provenance(),
        };
        let is_called = runtime.handlers.call(call, &runtime.signals);
        is_called.then_some(()).ok_or(Status::OUT_OF_RESOURCES)
    })
}
