//! The kernels of the conformance suite.
#![no_std]
