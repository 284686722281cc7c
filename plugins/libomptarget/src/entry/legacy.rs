//! Functions that older compilers call: those without `_mapper`, and those of clang before 15.

#![allow(clippy::too_many_arguments, reason = "signatures of LLVM's runtime")]

use std::ffi::{c_int, c_void};
use std::ptr;

use super::compiler::{
    __tgt_target_data_begin_mapper, __tgt_target_data_end_mapper, __tgt_target_data_update_mapper,
};
use crate::abi::{Ident, KernelArgs, Name};
use crate::region;

macro_rules! data_constructs {
    ($($name:ident, $nowait:ident => $mapper:ident;)*) => {$(
        with_nowait! {
            /// # Safety
            /// A compiler made the arrays for a construct: each is null or has `count` elements, and they
            /// describe memory of the program that is valid during the construct.
            fn $name, $nowait(
                device: i64,
                count: i32,
                bases: *mut *mut c_void,
                begins: *const *mut c_void,
                sizes: *const i64,
                types: *const i64,
            ) {
                let (at, names, mappers) = (ptr::null(), ptr::null(), ptr::null());
                // SAFETY: the same promise, with null for the other arrays.
                unsafe { $mapper(at, device, count, bases, begins, sizes, types, names, mappers) }
            }
        }
    )*};
}

data_constructs! {
    __tgt_target_data_begin, __tgt_target_data_begin_nowait => __tgt_target_data_begin_mapper;
    __tgt_target_data_end, __tgt_target_data_end_nowait => __tgt_target_data_end_mapper;
    __tgt_target_data_update, __tgt_target_data_update_nowait => __tgt_target_data_update_mapper;
}

/// [`KernelArgs::version`] of arguments that are passed as parameters.
const PARAMETERS: u32 = 1;

/// The teams of a region that has no `teams`.
const NO_TEAMS: i32 = -1;

with_nowait! {
    /// # Safety
    /// A compiler made the arguments for a target region, whose memory they describe.
    fn __tgt_target_teams_mapper, __tgt_target_teams_nowait_mapper(
        at: *const Ident,
        device: i64,
        host: *const c_void,
        count: i32,
        bases: *mut *mut c_void,
        begins: *mut *mut c_void,
        sizes: *const i64,
        types: *const i64,
        names: *const Name,
        mappers: *const *mut c_void,
        teams: i32,
        threads: i32,
    ) -> c_int {
        let args = KernelArgs {
            version: PARAMETERS,
            count: u32::try_from(count).unwrap_or(0),
            bases,
            begins,
            sizes,
            types,
            names,
            mappers,
            trip_count: 0,
            flags: 0,
            teams: [0; 3],
            threads: [0; 3],
            dynamic_shared_bytes: 0,
        };
        // SAFETY: the caller's promise is that of `launch`.
        unsafe { region::launch(at, device, teams, threads, host, &raw const args) }
    }
}

with_nowait! {
    /// # Safety
    /// A compiler made the arguments for a target region, whose memory they describe.
    fn __tgt_target_teams, __tgt_target_teams_nowait(
        device: i64,
        host: *const c_void,
        count: i32,
        bases: *mut *mut c_void,
        begins: *mut *mut c_void,
        sizes: *const i64,
        types: *const i64,
        teams: i32,
        threads: i32,
    ) -> c_int {
        let (at, names, mappers) = (ptr::null(), ptr::null(), ptr::null());
        // SAFETY: the same promise.
        unsafe {
            __tgt_target_teams_mapper(
                at, device, host, count, bases, begins, sizes, types, names, mappers, teams,
                threads,
            )
        }
    }
}

with_nowait! {
    /// # Safety
    /// A compiler made the arguments for a target region, whose memory they describe.
    fn __tgt_target_mapper, __tgt_target_nowait_mapper(
        at: *const Ident,
        device: i64,
        host: *const c_void,
        count: i32,
        bases: *mut *mut c_void,
        begins: *mut *mut c_void,
        sizes: *const i64,
        types: *const i64,
        names: *const Name,
        mappers: *const *mut c_void,
    ) -> c_int {
        let (teams, threads) = (NO_TEAMS, 0);
        // SAFETY: the same promise.
        unsafe {
            __tgt_target_teams_mapper(
                at, device, host, count, bases, begins, sizes, types, names, mappers, teams,
                threads,
            )
        }
    }
}

with_nowait! {
    /// # Safety
    /// A compiler made the arguments for a target region, whose memory they describe.
    fn __tgt_target, __tgt_target_nowait(
        device: i64,
        host: *const c_void,
        count: i32,
        bases: *mut *mut c_void,
        begins: *mut *mut c_void,
        sizes: *const i64,
        types: *const i64,
    ) -> c_int {
        let (at, names, mappers) = (ptr::null(), ptr::null(), ptr::null());
        let (teams, threads) = (NO_TEAMS, 0);
        // SAFETY: the same promise.
        unsafe {
            __tgt_target_teams_mapper(
                at, device, host, count, bases, begins, sizes, types, names, mappers, teams,
                threads,
            )
        }
    }
}

/// Since clang 15 it is in the arguments of kernels.
#[unsafe(no_mangle)]
extern "C" fn __kmpc_push_target_tripcount_mapper(_at: *const Ident, _device: i64, _trips: u64) {}

/// See [`__kmpc_push_target_tripcount_mapper`].
#[unsafe(no_mangle)]
extern "C" fn __kmpc_push_target_tripcount(_device: i64, _trips: u64) {}
