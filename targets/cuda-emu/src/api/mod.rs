//! NVIDIA's functions, by what they are for.

pub mod callback;
pub mod copy;
pub mod current;
pub mod device;
pub mod error;
pub mod event;
pub mod function;
pub mod init;
pub mod launch;
pub mod library;
pub mod link;
pub mod memory;
pub mod module;
pub mod pointer;
pub mod pool;
pub mod primary;
pub mod stream;
