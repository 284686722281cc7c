//! Loading an image, and the tables that libgomp is told.

use std::ffi::c_void;
use std::sync::{Arc, PoisonError};

use gcc_piece::Swapped;
use host_rt::device::{BlockShape, Global};
use host_rt::targets::DeviceArch;
use host_rt::{Functions, Grid, Image, Kernel, Program};
use shared_abi::gomp::{ADDITIONAL_ICVS, INDIRECT_ADDR_MAP, NVPTX_CLOCKTICK, REV_OFFLOAD_VAR};
use shared_abi::icv::OffloadIcvs;
use shared_abi::image::RUNTIME;

use crate::device::Device;
use crate::image::{Described, readable};
use crate::libgomp;
use crate::pin::{self, When};
use crate::reverse::HostRegion;
use crate::stacks::STACK;

/// Device functions by the number of the host's table: 0, or the address that stands for
/// the function in a call of the host.
const FUNCTION_TABLE: &str = "$offload_func_table";

/// Addresses of the functions that are called through pointers.
const INDIRECT_TABLE: &str = "$offload_ind_func_table";

/// Kernels that run an image's constructors: as one warp alone, with the end of a stack as
/// parameter if they have one.
const CONSTRUCTORS: [(&str, bool); 2] = [
    ("__do_global_ctors__entry", false),
    ("__do_global_ctors__entry__mgomp", true),
];

/// A loaded image.
pub(crate) struct Loaded {
    /// In the order of the host's table; libgomp has the addresses of these.
    functions: Vec<TargetFunction>,
    /// GCC's description, by which libgomp names the image.
    data: usize,
    _program: Program,
}

/// A function of an image, as libgomp hands it back for a launch.
pub(crate) struct TargetFunction {
    /// In the words of the source.
    pub(crate) name: String,
    /// In its PTX.
    pub(crate) mangled: String,
    /// None of what is called on the host.
    pub(crate) kernel: Option<Kernel>,
}

/// First and last address of what the host's table has at the same place: libgomp's
/// `addr_pair`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AddrPair {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// What libgomp is told of an image.
pub(crate) struct Tables {
    /// Functions, variables, control variables.
    pub(crate) target: Vec<AddrPair>,
    /// By function: the word that stands for it in a call of the host; empty if there is
    /// no such function.
    pub(crate) reverse: Vec<u64>,
}

/// Loads the image that GCC describes at `data`.
///
/// # Safety
/// `data` and `host_indirect`, if that is not null, are what `GOMP_OFFLOAD_load_image`
/// was called with.
///
/// # Errors
/// The image is none that the device runs.
pub(crate) unsafe fn load(
    device: &Arc<Device>,
    version: u32,
    data: *const c_void,
    host_indirect: *const u64,
) -> Result<Tables, String> {
    // SAFETY: the caller vouches for it.
    let mut described = unsafe { Described::read(version, data)? };
    // libgomp loads all that there is when it has opened a device, and then what comes.
    let when = if device.is_used() {
        When::Now
    } else {
        When::Later
    };
    let name = pin::pin(data, when);
    swap(device, &name, &mut described.texts);
    let failed = |error: host_rt::Error| error.to_string();
    let image = link(&name, &described)?;
    let program = device.runtime.load(&image, &Functions::new());
    let program = program.map_err(failed)?;

    let words = read_words(device, &program, FUNCTION_TABLE, described.functions.len())?;
    let is_kernel = |at: usize| words.get(at).is_none_or(|&word| word == 0);
    let mut functions = Vec::with_capacity(described.functions.len());
    for (at, mangled) in described.functions.iter().enumerate() {
        let name = readable(mangled);
        let kernel = if is_kernel(at) {
            Some(program.kernel(mangled).map_err(failed)?)
        } else {
            let region = HostRegion::new(device, words[at], &name);
            // SAFETY: the word stands for the region in the image's own table, and GCC has
            // compiled both sides of it from one source: what the image sends with it is what
            // the region takes, from any thread that runs kernels.
            unsafe { program.add_foreign(words[at], &name, Arc::new(region)) };
            None
        };
        functions.push(TargetFunction {
            name,
            mangled: mangled.clone(),
            kernel,
        });
    }

    let mut target = Vec::with_capacity(functions.len() + described.variables.len() + 1);
    // Where they are now, they stay: a `Vec` that is moved keeps its elements' place.
    target.extend(functions.iter().map(|function| {
        let start = std::ptr::from_ref(function).addr();
        let end = start + 1;
        AddrPair { start, end }
    }));
    for variable in &described.variables {
        let found = program.global(variable).map_err(failed)?;
        let found = found.ok_or_else(|| format!("{name}: no variable `{variable}` in its PTX"))?;
        device.add_variable(found);
        target.push(range(found));
    }
    target.push(control_variables(device, &program)?);

    set_clock(device, &program)?;
    if described.indirect > 0 {
        if host_indirect.is_null() {
            return Err(
                "libgomp has no table of functions that are called through pointers".into(),
            );
        }
        // SAFETY: libgomp's table has as many entries.
        let host = unsafe { std::slice::from_raw_parts(host_indirect, described.indirect) };
        map_indirect(device, &program, host)?;
    }
    construct(device, &program)?;

    // Without the variable nothing on the device calls: the host alone has such regions.
    let calls = [REV_OFFLOAD_VAR, RUNTIME]
        .iter()
        .any(|symbol| image.symbol(symbol).is_some());
    let reverse = words.iter().any(|&word| word != 0) && calls;
    libgomp::debug(&format!(
        "{name}: {} PTX texts, {} functions, {} variables{}",
        described.texts.len(),
        functions.len(),
        described.variables.len(),
        if reverse { ", calls the host" } else { "" },
    ));
    let loaded = Loaded {
        functions,
        data: data.addr(),
        _program: program,
    };
    let mut images = device.images.lock().unwrap_or_else(PoisonError::into_inner);
    images.push(Arc::new(loaded));
    Ok(Tables {
        target,
        reverse: if reverse { words } else { Vec::new() },
    })
}

/// Puts device-rt's `GOMP_target_ext` into an image that has GCC's, which serves one call
/// at a time; what cannot have it keeps what it has.
fn swap(device: &Device, name: &str, texts: &mut Vec<String>) {
    if !device.swaps {
        libgomp::debug(&format!(
            "{name}: calls of the host stay GCC's: REVOFF_SWAP=0"
        ));
        return;
    }
    let (DeviceArch::Nvidia(sm) | DeviceArch::Emulated(sm)) = device.runtime.arch() else {
        return;
    };
    match gcc_piece::swap(texts, sm.number) {
        Ok(Swapped::Now) => libgomp::debug(&format!("{name}: calls of the host are device-rt's")),
        Ok(_) => {}
        Err(why) => libgomp::debug(&format!("{name}: calls of the host stay GCC's: {why}")),
    }
}

/// Forgets the image that GCC describes at `data`; it stays on the device, see [`pin`].
pub(crate) fn unload(device: &Device, data: *const c_void) -> bool {
    let images = device.images.lock().unwrap_or_else(PoisonError::into_inner);
    images.iter().any(|image| image.data == data.addr())
}

impl Loaded {
    /// The function at an address that libgomp was told.
    fn function(&self, address: usize) -> Option<&TargetFunction> {
        let mut functions = self.functions.iter();
        functions.find(|function| std::ptr::from_ref(*function).addr() == address)
    }
}

/// Runs `with` with the function that libgomp names by `address`.
///
/// # Errors
/// No image has it.
pub(crate) fn with_function<R>(
    device: &Device,
    address: *const c_void,
    with: impl FnOnce(&TargetFunction) -> R,
) -> Result<R, String> {
    let images = device.images.lock().unwrap_or_else(PoisonError::into_inner);
    let image = images
        .iter()
        .find(|image| image.function(address.addr()).is_some())
        .cloned();
    drop(images);
    let function = image.as_ref().and_then(|i| i.function(address.addr()));
    function
        .map(with)
        .ok_or_else(|| format!("no image has a function at {address:?}"))
}

fn range(global: Global) -> AddrPair {
    let start = global.address as usize;
    let end = start + global.size as usize;
    AddrPair { start, end }
}

/// The image that the device links the texts to.
fn link(name: &str, described: &Described) -> Result<Image, String> {
    let parts = described.texts.iter().enumerate().map(|(at, text)| {
        let name = format!("{name}, PTX text {at}");
        Image::from_bytes(name, text.as_bytes())
    });
    let parts = parts.collect::<Result<Vec<_>, _>>();
    let image = parts.and_then(|parts| Image::link(name, parts));
    image.map_err(|error| error.to_string())
}

/// The `count` words of the variable `symbol`; none if the image does not have it.
fn read_words(
    device: &Device,
    program: &Program,
    symbol: &str,
    count: usize,
) -> Result<Vec<u64>, String> {
    let found = program.global(symbol).map_err(|error| error.to_string())?;
    let Some(table) = found else {
        return Ok(Vec::new());
    };
    if table.size != count as u64 * 8 {
        return Err(format!(
            "`{symbol}` has {} bytes, expected {count} words",
            table.size
        ));
    }
    let mut words = vec![0u64; count];
    let to = words.as_mut_ptr().cast();
    // SAFETY: as many bytes, and `words` is left alone until the copy is done.
    let copied = device
        .copy(|queue| unsafe { queue.copy_from_device(to, table.address, table.size as usize) });
    copied.map_err(|error| error.to_string())?;
    Ok(words)
}

fn write_bytes(device: &Device, to: u64, bytes: &[u8]) -> Result<(), String> {
    // SAFETY: `bytes` outlives the copy.
    let copied =
        device.copy(|queue| unsafe { queue.copy_to_device(to, bytes.as_ptr(), bytes.len()) });
    copied.map_err(|error| error.to_string())
}

/// Where libgomp finds the control variables. It inserts those of a device in its map once
/// for each image that tells it where, and ends the process at the second ("Duplicate
/// node", GCC 13 to 16): later images get what the first has, and tell nothing.
fn control_variables(device: &Device, program: &Program) -> Result<AddrPair, String> {
    const NOWHERE: AddrPair = AddrPair { start: 0, end: 0 };
    let found = program.global(ADDITIONAL_ICVS);
    let Some(icvs) = found.map_err(|error| error.to_string())? else {
        return Ok(NOWHERE);
    };
    let first = *device.icvs.get_or_init(|| icvs);
    if first == icvs {
        return Ok(range(icvs));
    }
    let len = size_of::<OffloadIcvs>();
    let copied = device.copy(|queue| queue.copy_on_device(icvs.address, first.address, len));
    copied.map_err(|error| error.to_string())?;
    Ok(NOWHERE)
}

fn set_clock(device: &Device, program: &Program) -> Result<(), String> {
    let tick = program
        .global(NVPTX_CLOCKTICK)
        .map_err(|error| error.to_string())?;
    let Some(tick) = tick else {
        return Ok(());
    };
    let seconds = 1e-3 / f64::from(device.runtime.clock_khz().max(1));
    write_bytes(device, tick.address, &seconds.to_ne_bytes())
}

/// Tells the device which of its functions the host's addresses stand for.
fn map_indirect(device: &Device, program: &Program, host: &[u64]) -> Result<(), String> {
    let words = read_words(device, program, INDIRECT_TABLE, host.len())?;
    let map = program
        .global(INDIRECT_ADDR_MAP)
        .map_err(|error| error.to_string())?;
    let (Some(map), false) = (map, words.is_empty()) else {
        return Err(format!(
            "functions that are called through pointers need `{INDIRECT_TABLE}` and \
             `{INDIRECT_ADDR_MAP}`, which the image does not have"
        ));
    };
    let mut pairs = Vec::with_capacity(host.len() * 2 + 1);
    for (&host, word) in host.iter().zip(words) {
        pairs.extend([host, word]);
    }
    pairs.push(0);
    let bytes: Vec<u8> = pairs.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let place = device.alloc(bytes.len() as u64);
    let place = place.map_err(|error| error.to_string())?;
    write_bytes(device, place, &bytes)?;
    write_bytes(device, map.address, &place.to_ne_bytes())
}

/// Runs the image's constructors, if it has any.
fn construct(device: &Device, program: &Program) -> Result<(), String> {
    let failed = |error: host_rt::Error| error.to_string();
    for (name, has_stack) in CONSTRUCTORS {
        let Ok(kernel) = program.kernel(name) else {
            continue;
        };
        let stacks = device.stacks.take(&device.runtime, 1).map_err(failed)?;
        let end = stacks.address() + STACK;
        let args: &[&dyn host_rt::KernelArg] = if has_stack { &[&end] } else { &[] };
        let grid = Grid {
            teams: 1,
            threads: 1,
        };
        // SAFETY: the kernel that GCC makes, with its parameters; the stack lives until
        // the launch has ended.
        let launch = unsafe { kernel.with_block(BlockShape::default()).launch(grid, args) };
        let launch = launch.map_err(failed)?;
        launch.wait().map_err(|error| error.to_string())?;
    }
    Ok(())
}
