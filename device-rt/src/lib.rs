//! The device side of reverse offload: GOMP_target_ext and the producer of each wire.
#![no_std]
