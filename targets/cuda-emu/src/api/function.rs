//! Attributes of kernels, and how many blocks fit.

use cudarc::driver::sys::CUfunction_attribute as F;

use crate::api::device::{SHARED_OF_BLOCK, THREADS_OF_PROCESSOR};
use crate::api::library::{current_function, function_of};
use crate::code::{Answer, Code};
use crate::driver::with_context;
use crate::pointers::Out;
use crate::state::Context;
use crate::state::module::{Function, Module, set_dynamic};

/// The emulator has no limit of registers; this many are common, and leave room for the largest block.
const REGISTERS: i32 = 32;

/// Bytes of shared memory of a multiprocessor.
const SHARED: u64 = ptx_emu::MAX_SHARED + 1024;

fn attribute(context: &Context, function: u64, attribute: u32) -> Answer<i32> {
    const MAX_THREADS: u32 = F::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK as u32;
    const SHARED_SIZE: u32 = F::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES as u32;
    const LOCAL_SIZE: u32 = F::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES as u32;
    const NUM_REGS: u32 = F::CU_FUNC_ATTRIBUTE_NUM_REGS as u32;
    const PTX_VERSION: u32 = F::CU_FUNC_ATTRIBUTE_PTX_VERSION as u32;
    const BINARY_VERSION: u32 = F::CU_FUNC_ATTRIBUTE_BINARY_VERSION as u32;
    const MAX_DYNAMIC: u32 = F::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as u32;
    const CARVEOUT: u32 = F::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT as u32;
    const LAST: u32 = F::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED as u32 + 1;
    let (function, module) = context.function(function_of(context, function)?)?;
    let (kernel, sm) = (function.kernel().ok(), context.gpu.sm() as i32);
    let shared = module.code.shared_bytes();
    Ok(match attribute {
        // Functions that only device code calls have attributes, too.
        MAX_THREADS => kernel.map_or(ptx_emu::MAX_THREADS, |it| module.code.max_threads(it)) as i32,
        SHARED_SIZE => shared as i32,
        LOCAL_SIZE => kernel.map_or(0, |it| module.code.local_bytes(it)) as i32,
        NUM_REGS => REGISTERS,
        PTX_VERSION => module.target as i32,
        BINARY_VERSION => sm,
        MAX_DYNAMIC => dynamic_limit(&function, &module) as i32,
        CARVEOUT => -1,
        // Constants, clusters: unknown here.
        other if other <= LAST => 0,
        _ => return Err(Code::INVALID_VALUE),
    })
}

pub extern "C" fn cuFuncGetAttribute(value: Out<i32>, which: u32, function: u64) -> u32 {
    with_context("cuFuncGetAttribute", |context| {
        value.set(attribute(context, function, which)?)
    })
}

pub extern "C" fn cuKernelGetAttribute(
    value: Out<i32>,
    which: u32,
    kernel: u64,
    _device: i32,
) -> u32 {
    with_context("cuKernelGetAttribute", |_| {
        let (context, function) = current_function(kernel)?;
        value.set(attribute(&context, function, which)?)
    })
}

/// Bytes of shared memory that a launch may add. The default is the limit of older GPUs.
pub(crate) fn dynamic_limit(function: &Function, module: &Module) -> u32 {
    let default = u64::from(module.code.shared_bytes());
    let default = SHARED_OF_BLOCK.saturating_sub(default) as u32;
    function.dynamic.unwrap_or(default)
}

fn set_attribute(context: &Context, function: u64, which: u32, value: i32) -> Answer {
    const MAX_DYNAMIC: u32 = F::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as u32;
    attribute(context, function, which)?;
    if which == MAX_DYNAMIC {
        let handle = function_of(context, function)?;
        let (_, module) = context.function(handle)?;
        let most = ptx_emu::MAX_SHARED.saturating_sub(module.code.shared_bytes().into());
        let bytes = u32::try_from(value).map_err(|_| Code::INVALID_VALUE)?;
        if u64::from(bytes) > most {
            return Err(Code::INVALID_VALUE);
        }
        set_dynamic(handle, bytes);
    }
    Ok(())
}

pub extern "C" fn cuFuncSetAttribute(function: u64, which: u32, value: i32) -> u32 {
    with_context("cuFuncSetAttribute", |context| {
        set_attribute(context, function, which, value)
    })
}

pub extern "C" fn cuKernelSetAttribute(which: u32, value: i32, kernel: u64, _device: i32) -> u32 {
    with_context("cuKernelSetAttribute", |_| {
        let (context, function) = current_function(kernel)?;
        set_attribute(&context, function, which, value)
    })
}

/// There are no caches to configure.
pub extern "C" fn cuFuncSetCacheConfig(function: u64, _config: u32) -> u32 {
    with_context("cuFuncSetCacheConfig", |context| {
        context.function(function_of(context, function)?).map(drop)
    })
}

/// Everything is loaded already.
pub extern "C" fn cuFuncLoad(function: u64) -> u32 {
    with_context("cuFuncLoad", |context| context.function(function).map(drop))
}

pub extern "C" fn cuFuncIsLoaded(state: Out<u32>, function: u64) -> u32 {
    with_context("cuFuncIsLoaded", |context| {
        context.function(function)?;
        state.set(1)
    })
}

pub extern "C" fn cuFuncGetParamInfo(
    function: u64,
    index: usize,
    offset: Out<usize>,
    size: Out<usize>,
) -> u32 {
    with_context("cuFuncGetParamInfo", |context| {
        let (function, module) = context.function(function_of(context, function)?)?;
        let places = module.code.param_places(function.kernel()?);
        let &(at, bytes) = places.get(index).ok_or(Code::INVALID_VALUE)?;
        offset.set(at as usize)?;
        size.set_if_wanted(bytes as usize);
        Ok(())
    })
}

/// Blocks of a multiprocessor.
pub(crate) fn blocks(context: &Context, function: u64, block: u64, dynamic: u64) -> Answer<u64> {
    let (function, module) = context.function(function_of(context, function)?)?;
    if block == 0 {
        return Err(Code::INVALID_VALUE);
    }
    if block > module.code.max_threads(function.kernel()?).into() {
        return Ok(0);
    }
    let shared = u64::from(module.code.shared_bytes()).saturating_add(dynamic);
    let by_shared = SHARED.checked_div(shared).unwrap_or(u64::MAX);
    let by_threads = u64::from(THREADS_OF_PROCESSOR) / block.next_multiple_of(32);
    Ok(by_threads.min(by_shared).min(32))
}

pub extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    count: Out<i32>,
    function: u64,
    block: i32,
    dynamic: usize,
) -> u32 {
    with_context("cuOccupancyMaxActiveBlocksPerMultiprocessor", |context| {
        let block = u64::try_from(block).map_err(|_| Code::INVALID_VALUE)?;
        count.set(blocks(context, function, block, dynamic as u64)? as i32)
    })
}

pub extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    count: Out<i32>,
    function: u64,
    block: i32,
    dynamic: usize,
    _flags: u32,
) -> u32 {
    cuOccupancyMaxActiveBlocksPerMultiprocessor(count, function, block, dynamic)
}

type SharedOfBlock = Option<unsafe extern "C" fn(i32) -> usize>;

pub extern "C" fn cuOccupancyMaxPotentialBlockSize(
    grid: Out<i32>,
    block: Out<i32>,
    function: u64,
    shared_of_block: SharedOfBlock,
    dynamic: usize,
    limit: i32,
) -> u32 {
    with_context("cuOccupancyMaxPotentialBlockSize", |context| {
        let handle = function_of(context, function)?;
        let (function, module) = context.function(handle)?;
        let most = module.code.max_threads(function.kernel()?) as i32;
        let most = if limit > 0 { most.min(limit) } else { most };
        let mut best = (0, 0);
        for threads in (1..=most)
            .rev()
            .filter(|threads| *threads == most || threads % 32 == 0)
        {
            // SAFETY: the driver's caller has given the function for this.
            let shared = shared_of_block.map_or(dynamic, |shared| unsafe { shared(threads) });
            let blocks = blocks(context, handle, threads as u64, shared as u64)?;
            if blocks * threads as u64 > best.0 {
                best = (blocks * threads as u64, threads);
            }
        }
        let (all, threads) = best;
        if threads == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let processors = context.gpu.machine.options().processors;
        grid.set((all / threads as u64) as i32 * processors as i32)?;
        block.set(threads)
    })
}

pub extern "C" fn cuOccupancyMaxPotentialBlockSizeWithFlags(
    grid: Out<i32>,
    block: Out<i32>,
    function: u64,
    shared_of_block: SharedOfBlock,
    dynamic: usize,
    limit: i32,
    _flags: u32,
) -> u32 {
    cuOccupancyMaxPotentialBlockSize(grid, block, function, shared_of_block, dynamic, limit)
}

pub extern "C" fn cuOccupancyAvailableDynamicSMemPerBlock(
    bytes: Out<usize>,
    function: u64,
    blocks: i32,
    _block: i32,
) -> u32 {
    with_context("cuOccupancyAvailableDynamicSMemPerBlock", |context| {
        let (_, module) = context.function(function_of(context, function)?)?;
        let blocks = u64::try_from(blocks).ok().filter(|&blocks| blocks > 0);
        let each = SHARED / blocks.ok_or(Code::INVALID_VALUE)?;
        let free = each.min(ptx_emu::MAX_SHARED);
        bytes.set(free.saturating_sub(module.code.shared_bytes().into()) as usize)
    })
}
