//! Attributes of addresses.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::{CUmemorytype, CUpointer_attribute as P};
use emu_driver::process::lock;

use crate::code::{Answer, Code};
use crate::driver::{contexts, with_context, with_driver};
use crate::pointers::{In, Out};
use crate::state::Context;
use crate::state::memory::PinnedKind;

/// Memory that the driver knows.
struct Known {
    kind: CUmemorytype,
    is_managed: bool,
    context: Arc<Context>,
    /// Its start and its size.
    range: (u64, u64),
}

/// The memory at an address.
fn known(address: u64) -> Answer<Known> {
    let found = contexts().into_iter().find_map(|context| {
        let (kind, is_managed, range) = if let Some(range) = context.device_memory(address, 1) {
            (CUmemorytype::CU_MEMORYTYPE_DEVICE, false, range)
        } else {
            let owned = lock(&context.owned);
            let (&start, pinned) = owned.pinned.range(..=address).next_back()?;
            let range = (start, pinned.bytes);
            let is_managed = pinned.kind == PinnedKind::Managed;
            (address - start < pinned.bytes).then_some(())?;
            (CUmemorytype::CU_MEMORYTYPE_HOST, is_managed, range)
        };
        Some(Known {
            kind,
            is_managed,
            context,
            range,
        })
    });
    let registered = || {
        contexts().into_iter().find_map(|context| {
            let range = context.gpu.machine.memory().registered_range(address, 1)?;
            let is_its = lock(&context.owned).registered.contains_key(&range.0);
            is_its.then_some(Known {
                kind: CUmemorytype::CU_MEMORYTYPE_HOST,
                is_managed: false,
                context,
                range,
            })
        })
    };
    found.or_else(registered).ok_or(Code::INVALID_VALUE)
}

const CONTEXT: u32 = P::CU_POINTER_ATTRIBUTE_CONTEXT as u32;
const MEMORY_TYPE: u32 = P::CU_POINTER_ATTRIBUTE_MEMORY_TYPE as u32;
const DEVICE_POINTER: u32 = P::CU_POINTER_ATTRIBUTE_DEVICE_POINTER as u32;
const HOST_POINTER: u32 = P::CU_POINTER_ATTRIBUTE_HOST_POINTER as u32;
const BUFFER_ID: u32 = P::CU_POINTER_ATTRIBUTE_BUFFER_ID as u32;
const IS_MANAGED: u32 = P::CU_POINTER_ATTRIBUTE_IS_MANAGED as u32;
const DEVICE_ORDINAL: u32 = P::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL as u32;
const RANGE_START: u32 = P::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR as u32;
const RANGE_SIZE: u32 = P::CU_POINTER_ATTRIBUTE_RANGE_SIZE as u32;
const MAPPED: u32 = P::CU_POINTER_ATTRIBUTE_MAPPED as u32;

/// The size of an attribute's value.
enum Width {
    Flag,
    Word,
    Address,
}

fn width(attribute: u32) -> Option<Width> {
    match attribute {
        MAPPED => Some(Width::Flag),
        MEMORY_TYPE | IS_MANAGED | DEVICE_ORDINAL => Some(Width::Word),
        CONTEXT | DEVICE_POINTER | HOST_POINTER | BUFFER_ID | RANGE_START | RANGE_SIZE => {
            Some(Width::Address)
        }
        _ => None,
    }
}

fn attribute(data: Out<c_void>, attribute: u32, address: u64) -> Answer {
    let Known {
        kind,
        is_managed,
        context,
        range: (start, size),
    } = known(address)?;
    let is_host = kind == CUmemorytype::CU_MEMORYTYPE_HOST;
    match attribute {
        CONTEXT => data.of().set(context.handle),
        // Managed memory is where the device is.
        MEMORY_TYPE if is_managed => data.of().set(CUmemorytype::CU_MEMORYTYPE_DEVICE as u32),
        MEMORY_TYPE => data.of().set(kind as u32),
        DEVICE_POINTER => data.of().set(address),
        HOST_POINTER if is_host => data.of().set(address),
        BUFFER_ID => data.of().set(start),
        IS_MANAGED => data.of().set(u32::from(is_managed)),
        DEVICE_ORDINAL => data.of().set(context.gpu.number),
        RANGE_START => data.of().set(start),
        RANGE_SIZE => data.of().set(size),
        MAPPED => data.of().set(1u8),
        _ => Err(Code::INVALID_VALUE),
    }
}

pub extern "C" fn cuPointerGetAttribute(data: Out<c_void>, which: u32, address: u64) -> u32 {
    with_context("cuPointerGetAttribute", |_| attribute(data, which, address))
}

/// Unlike `cuPointerGetAttribute`, it accepts addresses of which nothing is known: their attributes
/// are 0.
pub extern "C" fn cuPointerGetAttributes(
    count: u32,
    which: In<u32>,
    data: In<*mut c_void>,
    address: u64,
) -> u32 {
    with_driver("cuPointerGetAttributes", |_| {
        let (which, data) = (which.all(count as usize)?, data.all(count as usize)?);
        for (which, data) in which.into_iter().zip(data) {
            if attribute(Out::new(data), which, address).is_ok() {
                continue;
            }
            match width(which).ok_or(Code::INVALID_VALUE)? {
                Width::Word if which == DEVICE_ORDINAL => Out::new(data.cast()).set(-2i32)?,
                Width::Word => Out::new(data.cast()).set(0u32)?,
                Width::Address => Out::new(data.cast()).set(0u64)?,
                Width::Flag => Out::new(data.cast()).set(0u8)?,
            }
        }
        Ok(())
    })
}

/// Nothing of what it sets changes anything here.
pub extern "C" fn cuPointerSetAttribute(_value: *const c_void, _which: u32, address: u64) -> u32 {
    with_context("cuPointerSetAttribute", |_| known(address).map(drop))
}
