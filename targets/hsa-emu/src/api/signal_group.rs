//! Groups of signals.

use emu_driver::process::{handle, lock};
use hsa_runtime_sys::*;

use crate::pointers::{In, Out};
use crate::runtime::{Runtime, answer, wait_for};
use crate::signal::Condition;
use crate::status::{Answer, Status};

pub extern "C" fn hsa_signal_group_create(
    count: u32,
    signals: In<hsa_signal_t>,
    consumers: u32,
    agents: In<hsa_agent_t>,
    group: Out<hsa_signal_group_t>,
) -> hsa_status_t {
    answer("hsa_signal_group_create", |runtime| {
        if count == 0 || consumers == 0 || group.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let signals = signals.all(count as usize)?;
        for &signal in &signals {
            runtime.signals.get(signal)?;
        }
        for agent in agents.all(consumers as usize)? {
            runtime.agent(agent)?;
        }
        let handle = handle();
        lock(&runtime.groups).insert(handle, signals);
        group.set(hsa_signal_group_t { handle })
    })
}

pub extern "C" fn hsa_signal_group_destroy(group: hsa_signal_group_t) -> hsa_status_t {
    answer("hsa_signal_group_destroy", |runtime| {
        let destroyed = lock(&runtime.groups).remove(&group.handle);
        destroyed.map(drop).ok_or(Status::INVALID_SIGNAL_GROUP)
    })
}

fn wait(
    runtime: &Runtime,
    group: hsa_signal_group_t,
    (kinds, others): (In<hsa_signal_condition_t>, In<i64>),
    (signal, value): (Out<hsa_signal_t>, Out<i64>),
) -> Answer {
    let signals = lock(&runtime.groups).get(&group.handle).cloned();
    let signals = signals.ok_or(Status::INVALID_SIGNAL_GROUP)?;
    let (kinds, others) = (kinds.all(signals.len())?, others.all(signals.len())?);
    let conditions = kinds.into_iter().zip(others);
    let conditions = conditions.map(|(kind, other)| Condition { kind, other });
    let known = signals.iter().map(|&signal| runtime.signals.get(signal));
    let known: Answer<Vec<_>> = known.collect();
    let known: Vec<_> = known?.into_iter().zip(conditions).collect();
    if !known.iter().all(|(_, condition)| condition.is_valid()) {
        return Err(Status::INVALID_ARGUMENT);
    }
    let (at, found) = wait_for(&known, u64::MAX).ok_or(Status::ERROR)?;
    signal.set(signals[at])?;
    value.set(found)
}

macro_rules! waits {
    ($($name:ident)*) => {$(
        pub extern "C" fn $name(
            group: hsa_signal_group_t,
            conditions: In<hsa_signal_condition_t>,
            others: In<i64>,
            _how: hsa_wait_state_t,
            signal: Out<hsa_signal_t>,
            value: Out<i64>,
        ) -> hsa_status_t {
            answer(stringify!($name), |runtime| {
                wait(runtime, group, (conditions, others), (signal, value))
            })
        }
    )*};
}

waits! {
    hsa_signal_group_wait_any_scacquire
    hsa_signal_group_wait_any_relaxed
}
