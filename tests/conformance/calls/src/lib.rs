//! The host functions that the conformance kernels call.
#![no_std]
