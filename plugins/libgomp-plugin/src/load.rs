//! Loading an image, and the tables for libgomp.

use std::ffi::c_void;
use std::sync::Arc;

use revoff_host::device::{DeviceAddr, Global};
use revoff_host::{Kernel, Program};
use shared_abi::gomp::{ADDITIONAL_ICVS, INDIRECT_ADDR_MAP};
use shared_abi::icv::OffloadIcvs;

use crate::device::Device;
use crate::error::{Error, PastEnd, Result};
use crate::image::{host_version, readable};
use crate::keep_loaded::{When, keep_loaded};
use crate::kind::{Gpu, Kernels};
use crate::libgomp;
use crate::reverse::{HostRegion, Locked};

/// A loaded image.
pub(crate) struct Loaded {
    /// In the order of the host's table; libgomp holds the addresses of these.
    functions: Vec<TargetFunction>,
    /// GCC's description, whose address identifies the image for libgomp.
    data: usize,
    /// Launches its kernels.
    pub(crate) kernels: Box<dyn Kernels>,
    locked: Arc<Locked>,
    _program: Program,
}

/// A function of an image, as libgomp passes it for a launch.
pub(crate) struct TargetFunction {
    /// The name in the source.
    pub(crate) name: String,
    /// The name in the image.
    pub(crate) mangled: String,
    /// `None` for host regions.
    pub(crate) kernel: Option<Kernel>,
}

/// First and last address of an entry of the host's table: libgomp's `addr_pair`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AddrPair {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The tables of an image for libgomp.
pub(crate) struct Tables {
    /// Functions, variables, control variables.
    pub(crate) target: Vec<AddrPair>,
    /// For each function the word that represents it in a call of the host; empty if there is no
    /// such function.
    pub(crate) reverse: Vec<u64>,
}

/// Loads the image that GCC describes at `data`.
///
/// # Safety
/// `data` and `host_indirect`, if that is not null, are what `GOMP_OFFLOAD_load_image`
/// was called with.
///
/// # Errors
/// The device cannot run the image.
pub(crate) unsafe fn load(
    gpu: &dyn Gpu,
    device: &Arc<Device>,
    version: u32,
    data: *const c_void,
    host_indirect: *const u64,
) -> Result<(Loaded, Tables)> {
    let version = host_version(version)?;
    // libgomp loads all registered images when it has opened a device, and later ones when they are
    // registered.
    let when = if device.is_used() {
        When::Now
    } else {
        When::Later
    };
    let name = keep_loaded(data, when);
    // SAFETY: the caller vouches for the description.
    let code = unsafe { gpu.load(device, &name, version, data)? };
    let program = code.program;

    let locked = Arc::default();
    let mut functions = Vec::with_capacity(code.functions.len());
    for function in &code.functions {
        let (mangled, word) = (&function.name, function.word);
        let name = readable(mangled);
        let kernel = if word == 0 {
            Some(program.kernel(mangled)?)
        } else {
            let region = HostRegion::new(device, word, &name, &locked);
            // SAFETY: the word represents the region in the image's own table, and GCC has compiled
            // both sides from one source: the image sends the arguments that the region takes, and
            // the region may run on any thread.
            unsafe { program.add_foreign(word, &name, Arc::new(region)) };
            None
        };
        functions.push(TargetFunction {
            name,
            mangled: mangled.clone(),
            kernel,
        });
    }

    let mut target = Vec::with_capacity(functions.len() + code.variables.len() + 1);
    // The elements of a `Vec` keep their addresses when it is moved.
    target.extend(functions.iter().map(|function| {
        let start = std::ptr::from_ref(function).addr();
        let end = start + 1;
        AddrPair { start, end }
    }));
    for (at, &variable) in code.variables.iter().enumerate() {
        let range = range(variable).map_err(|source| Error::Image {
            name: name.clone(),
            source: Box::new(Error::Variable { at, source }),
        });
        target.push(range?);
        device.add_variable(variable);
    }
    target.push(control_variables(device, &program)?);

    if !code.indirect.is_empty() {
        if host_indirect.is_null() {
            return Err(Error::NoIndirectTable);
        }
        // SAFETY: the caller passes libgomp's table for this image. GCC writes the host's table and
        // the number in the image's description, which is that of `code.indirect`, from one list of
        // functions, and both are in the program, where no device can change them.
        let host = unsafe { std::slice::from_raw_parts(host_indirect, code.indirect.len()) };
        map_indirect(device, &program, host, &code.indirect)?;
    }
    locked.during(|| code.kernels.construct(device))?;

    let words = code.functions.iter().map(|function| function.word);
    // If nothing on the device calls the host, only the host has such regions.
    let reverse = code.calls_host && words.clone().any(|word| word != 0);
    libgomp::debug(&format!(
        "{name}: {}, {} functions, {} variables{}",
        code.about,
        functions.len(),
        code.variables.len(),
        if reverse { ", calls the host" } else { "" },
    ));
    let reverse = if reverse { words.collect() } else { Vec::new() };
    let loaded = Loaded {
        functions,
        data: data.addr(),
        kernels: code.kernels,
        locked,
        _program: program,
    };
    Ok((loaded, Tables { target, reverse }))
}

impl Loaded {
    /// Runs its destructors.
    ///
    /// # Errors
    /// A destructor failed.
    pub(crate) fn destruct(&self, device: &Device) -> Result<()> {
        self.locked.during(|| self.kernels.destruct(device))
    }

    /// Whether GCC describes it at `data`.
    pub(crate) fn is_at(&self, data: *const c_void) -> bool {
        self.data == data.addr()
    }

    /// The function at an address of a table for libgomp.
    pub(crate) fn function(&self, address: usize) -> Option<&TargetFunction> {
        let mut functions = self.functions.iter();
        functions.find(|function| std::ptr::from_ref(*function).addr() == address)
    }
}

/// The range of a variable.
///
/// # Errors
/// It runs past the end of the address space. Address and size may come from the image.
fn range(global: Global) -> Result<AddrPair, PastEnd> {
    let Global { address, size } = global;
    let end = address.checked_add(size).ok_or(PastEnd(global))?;
    Ok(AddrPair {
        start: address.0 as usize,
        end: end.0 as usize,
    })
}

/// The address of the control variables for libgomp. libgomp inserts a device's control variables
/// into its map once for each image that returns an address, and ends the process at the second
/// ("Duplicate node", GCC 13 to 16). So later images get the values of the first, and return no
/// address.
fn control_variables(device: &Device, program: &Program) -> Result<AddrPair> {
    const NOWHERE: AddrPair = AddrPair { start: 0, end: 0 };
    let Some(icvs) = program.global(ADDITIONAL_ICVS)? else {
        return Ok(NOWHERE);
    };
    let first = *device.icvs.get_or_init(|| icvs);
    if first == icvs {
        return range(icvs).map_err(|source| Error::ControlVariables {
            symbol: ADDITIONAL_ICVS,
            source,
        });
    }
    let len = size_of::<OffloadIcvs>();
    device.copy(|queue| queue.copy_on_device(icvs.address, first.address, len))?;
    Ok(NOWHERE)
}

/// Writes the map from the host's function addresses to the device's.
fn map_indirect(device: &Device, program: &Program, host: &[u64], words: &[u64]) -> Result<()> {
    let map = program.global(INDIRECT_ADDR_MAP)?;
    let map = map.ok_or(Error::NoIndirect(INDIRECT_ADDR_MAP))?;
    let mut pairs = Vec::with_capacity(host.len() * 2 + 1);
    for (&host, &word) in host.iter().zip(words) {
        pairs.extend([host, word]);
    }
    pairs.push(0);
    let bytes: Vec<u8> = pairs.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let place = device.alloc(bytes.len() as u64)?;
    device.write_bytes(DeviceAddr(place), &bytes)?;
    device.write_bytes(map.address, &place.to_ne_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_is_nowhere_is_refused() {
        let range = |address, size| {
            let address = DeviceAddr(address);
            range(Global { address, size })
        };
        let found = AddrPair { start: 16, end: 24 };
        assert_eq!(range(16, 8), Ok(found));
        assert!(range(16, u64::MAX - 16).is_ok());
        let error = range(16, u64::MAX).unwrap_err().to_string();
        let texts = ["18446744073709551615 bytes", "0x10"];
        assert!(texts.iter().all(|text| error.contains(text)), "{error}");
    }
}
