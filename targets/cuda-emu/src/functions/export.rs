//! Looking functions up by name.

use std::ffi::c_void;
use std::sync::Once;

use super::function;
use crate::code::{Answer, Code};
use crate::driver::with_driver;
use crate::pointers::{In, Out, Text};
use crate::settings::settings;

/// The versions of CUDA that have introduced a version of a function which has several; all other
/// second versions are of CUDA 3 or 4. Source: the typedefs in `cudaTypedefs.h`.
const INTRODUCED: [(&str, i32); 18] = [
    ("cuCtxCreate_v3", 11_040),
    ("cuCtxCreate_v4", 12_050),
    ("cuDeviceGetUuid_v2", 11_040),
    ("cuDevicePrimaryCtxRelease_v2", 11_000),
    ("cuDevicePrimaryCtxReset_v2", 11_000),
    ("cuDevicePrimaryCtxSetFlags_v2", 11_000),
    ("cuEventElapsedTime_v2", 12_080),
    ("cuGetProcAddress_v2", 12_000),
    ("cuMemAdvise_v2", 12_020),
    ("cuMemPrefetchAsync_v2", 12_020),
    ("cuStreamBatchMemOp_v2", 11_070),
    ("cuStreamGetCaptureInfo_v2", 11_030),
    ("cuStreamGetCaptureInfo_v3", 12_030),
    ("cuStreamGetCtx_v2", 12_050),
    ("cuStreamWaitValue32_v2", 11_070),
    ("cuStreamWaitValue64_v2", 11_070),
    ("cuStreamWriteValue32_v2", 11_070),
    ("cuStreamWriteValue64_v2", 11_070),
];

/// The highest flag of a look-up, and its results.
const PER_THREAD_STREAM: u64 = 2;
const FOUND: u32 = 0;
const NOT_FOUND: u32 = 1;
const TOO_NEW: u32 = 2;

/// The function of this name in a version of CUDA, and whether there is one at all.
fn look_up(name: &str, version: i32, flags: u64) -> Result<*const c_void, u32> {
    let mut is_too_new = false;
    for number in ["_v4", "_v3", "_v2", ""] {
        let versioned = format!("{name}{number}");
        let introduced = INTRODUCED.iter().find(|(known, _)| *known == versioned);
        let suffixes: &[&str] = match flags {
            PER_THREAD_STREAM => &["_ptsz", "_ptds", ""],
            _ => &[""],
        };
        let found = suffixes
            .iter()
            .find_map(|suffix| function(&format!("{versioned}{suffix}")));
        let Some(found) = found else { continue };
        if introduced.is_some_and(|&(_, introduced)| introduced > version) {
            is_too_new = true;
            continue;
        }
        return Ok(found);
    }
    Err(if is_too_new { TOO_NEW } else { NOT_FOUND })
}

fn address(
    name: &Text,
    pointer: Out<*const c_void>,
    version: i32,
    flags: u64,
    status: Out<u32>,
) -> Answer {
    if flags > PER_THREAD_STREAM {
        return Err(Code::INVALID_VALUE);
    }
    if version > settings().version / 1000 * 1000 + 999 {
        return Err(Code::INVALID_VALUE);
    }
    match look_up(name.read()?, version, flags) {
        Ok(found) => {
            status.set_if_wanted(FOUND);
            pointer.set(found)
        }
        Err(reason) => {
            tracing::debug!(
                name = name.read()?,
                version,
                "a function that was asked for is not there"
            );
            let is_asked = !status.is_null();
            status.set_if_wanted(reason);
            pointer.set(std::ptr::null())?;
            if is_asked {
                Ok(())
            } else {
                Err(Code::NOT_FOUND)
            }
        }
    }
}

pub extern "C" fn cuGetProcAddress_v2(
    name: Text,
    pointer: Out<*const c_void>,
    version: i32,
    flags: u64,
    status: Out<u32>,
) -> u32 {
    crate::driver::answer("cuGetProcAddress_v2", || {
        address(&name, pointer, version, flags, status)
    })
}

pub extern "C" fn cuGetProcAddress(
    name: Text,
    pointer: Out<*const c_void>,
    version: i32,
    flags: u64,
) -> u32 {
    crate::driver::answer("cuGetProcAddress", || {
        address(
            &name,
            pointer,
            version,
            flags,
            Out::new(std::ptr::null_mut()),
        )
    })
}

/// The table for which NVIDIA's runtime library asks before anything else.
const OF_RUNTIME: [u8; 16] = [
    0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9,
];

/// There are no tables that NVIDIA does not document. Its compiler library works without them, its runtime library
/// does not.
pub extern "C" fn cuGetExportTable(table: Out<*const c_void>, id: In<[u8; 16]>) -> u32 {
    with_driver("cuGetExportTable", |_| {
        let id = id.get()?;
        static ONCE: Once = Once::new();
        if id == OF_RUNTIME {
            ONCE.call_once(|| {
                tracing::warn!(
                    "NVIDIA's runtime library works with NVIDIA's driver only: run the program by `revoff emulate`, \
                     and link it dynamically (nvcc -cudart shared) or with the library in `revoff emulate --path`"
                );
            });
        }
        tracing::debug!(?id, "a table that NVIDIA does not document was asked for");
        table.set(std::ptr::null())?;
        Err(Code::NOT_FOUND)
    })
}
