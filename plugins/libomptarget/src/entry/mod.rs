//! Functions that programs call.

mod api;
mod compiler;
mod interop;
mod legacy;
