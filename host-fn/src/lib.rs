//! Host functions that device code calls, declared once for both sides.
#![no_std]
