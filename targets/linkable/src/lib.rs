//! device-rt as one linkable piece, for images written in other languages.
#![no_std]
