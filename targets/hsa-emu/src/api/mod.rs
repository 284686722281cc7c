//! The functions, by subject.

#![allow(missing_docs, reason = "AMD and the HSA Foundation document them")]

pub mod agent;
pub mod cache;
pub mod code_object;
pub mod copy;
pub mod event;
pub mod executable;
pub mod extension;
pub mod isa;
pub mod loader;
pub mod lock;
pub mod memory;
mod order;
pub mod pointer;
pub mod pool;
pub mod profiling;
pub mod queue;
pub mod queue_index;
pub mod region;
pub mod signal;
pub mod signal_group;
pub mod signal_value;
pub mod symbol;
pub mod system;
