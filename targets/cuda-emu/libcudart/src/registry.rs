//! The program's kernels and variables, which initialisers that its compiler has made register before `main`.
//! The driver loads a fat binary when one of them is first used.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::sync::{LazyLock, Mutex};

use crate::driver::Driver;
use crate::error::{CudaResult, Error};
use crate::sync::lock;

/// A fat binary.
struct Binary {
    /// The address of its wrapper, which is a constant of the program.
    wrapper: usize,
    /// The driver's library once it was needed, or why there is none.
    loaded: Option<CudaResult<u64>>,
}

/// A kernel or a variable on the device.
struct Symbol {
    /// The number of its binary.
    binary: usize,
    name: CString,
    /// The kernel's handle once it was needed.
    kernel: Option<u64>,
}

#[derive(Default)]
struct Registry {
    /// By their numbers, which are never reused.
    binaries: HashMap<usize, Binary>,
    next: usize,
    /// By the addresses that stand for them on the host: a kernel's stub, or a variable.
    kernels: HashMap<usize, Symbol>,
    variables: HashMap<usize, Symbol>,
}

static REGISTRY: LazyLock<Mutex<Registry>> = LazyLock::new(Mutex::default);

/// Registers a fat binary; returns its number.
pub(crate) fn add_binary(wrapper: *const c_void) -> usize {
    let mut registry = lock(&REGISTRY);
    registry.next += 1;
    let number = registry.next;
    let binary = Binary {
        wrapper: wrapper.expose_provenance(),
        loaded: None,
    };
    registry.binaries.insert(number, binary);
    number
}

/// Removes a fat binary with everything in it. Returns the driver's library, if it was loaded.
pub(crate) fn remove_binary(number: usize) -> Option<u64> {
    let mut registry = lock(&REGISTRY);
    registry.kernels.retain(|_, symbol| symbol.binary != number);
    registry
        .variables
        .retain(|_, symbol| symbol.binary != number);
    registry.binaries.remove(&number)?.loaded?.ok()
}

fn symbol(binary: usize, name: &CStr) -> Symbol {
    Symbol {
        binary,
        name: name.to_owned(),
        kernel: None,
    }
}

pub(crate) fn add_kernel(binary: usize, host: usize, name: &CStr) {
    lock(&REGISTRY).kernels.insert(host, symbol(binary, name));
}

pub(crate) fn add_variable(binary: usize, host: usize, name: &CStr) {
    lock(&REGISTRY).variables.insert(host, symbol(binary, name));
}

/// Makes a fat binary unusable, because of something in it that is not supported.
pub(crate) fn reject_binary(number: usize) {
    if let Some(binary) = lock(&REGISTRY).binaries.get_mut(&number) {
        binary.loaded = Some(Err(Error::NOT_SUPPORTED));
    }
}

impl Binary {
    fn load(&mut self, driver: &Driver) -> CudaResult<u64> {
        let wrapper = self.wrapper;
        *self.loaded.get_or_insert_with(|| {
            let mut library = 0;
            let none = std::ptr::null();
            let code = std::ptr::with_exposed_provenance(wrapper);
            driver.cuLibraryLoadData(
                &raw mut library,
                code,
                none,
                none.cast(),
                0,
                none,
                none.cast(),
                0,
            )?;
            Ok(library)
        })
    }
}

/// The driver's handle of a kernel. `host` may be such a handle already.
pub(crate) fn kernel(driver: &Driver, host: u64) -> CudaResult<u64> {
    let mut registry = lock(&REGISTRY);
    let Registry {
        binaries, kernels, ..
    } = &mut *registry;
    let Some(symbol) = kernels.get_mut(&(host as usize)) else {
        let is_handle = kernels.values().any(|symbol| symbol.kernel == Some(host));
        return is_handle.then_some(host).ok_or(Error::INVALID_FUNCTION);
    };
    if let Some(kernel) = symbol.kernel {
        return Ok(kernel);
    }
    let binary = binaries.get_mut(&symbol.binary);
    let library = binary.ok_or(Error::INVALID_FUNCTION)?.load(driver)?;
    let mut kernel = 0;
    driver
        .cuLibraryGetKernel(&raw mut kernel, library, symbol.name.as_ptr())
        .map_err(|_| Error::INVALID_FUNCTION)?;
    symbol.kernel = Some(kernel);
    Ok(kernel)
}

/// Address and size of a variable on the current device.
pub(crate) fn variable(driver: &Driver, host: u64) -> CudaResult<(u64, usize)> {
    let mut registry = lock(&REGISTRY);
    let Registry {
        binaries,
        variables,
        ..
    } = &mut *registry;
    let symbol = variables
        .get(&(host as usize))
        .ok_or(Error::INVALID_SYMBOL)?;
    let binary = binaries.get_mut(&symbol.binary);
    let library = binary.ok_or(Error::INVALID_SYMBOL)?.load(driver)?;
    let (mut address, mut bytes) = (0, 0);
    driver
        .cuLibraryGetGlobal(
            &raw mut address,
            &raw mut bytes,
            library,
            symbol.name.as_ptr(),
        )
        .map_err(|_| Error::INVALID_SYMBOL)?;
    Ok((address, bytes))
}
