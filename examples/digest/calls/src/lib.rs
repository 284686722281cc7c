//! The host functions that the digest kernel calls.
#![no_std]
