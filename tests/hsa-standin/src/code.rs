//! Executables: loaded code, and its symbols.

use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

use emu_driver::process::{handle, lock};
use host_rt::device::Global;
use hsa_runtime_sys::*;

use crate::content::Content;
use crate::placed::Refused;
use crate::state::{Answer, State, answer};

/// An executable.
#[derive(Default)]
pub(crate) struct Executable {
    loaded: Option<Loaded>,
    is_frozen: bool,
}

struct Loaded {
    /// The GPU that it is loaded on.
    number: usize,
    content: Content,
    /// Symbols of kernels, and their objects.
    kernels: Vec<(String, u64)>,
}

/// The target of a symbol's handle: a kernel, or an address.
enum Symbol {
    Kernel(u64),
    Data(Global),
}

impl Executable {
    /// Starts and sizes of the parts that are loaded on that GPU.
    pub(crate) fn segments(&self, number: usize) -> Vec<(u64, u64)> {
        let loaded = self.loaded.as_ref().filter(|l| l.number == number);
        loaded.map_or_else(Vec::new, |loaded| loaded.content.segments())
    }
}

/// # Safety
/// There are `size` bytes, and `reader` is valid for a handle.
#[unsafe(no_mangle)]
unsafe extern "C" fn hsa_code_object_reader_create_from_memory(
    bytes: *const c_void,
    len: usize,
    reader: *mut hsa_code_object_reader_t,
) -> hsa_status_t {
    answer("hsa_code_object_reader_create_from_memory", |state| {
        // SAFETY: the caller's promise.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), len) };
        let handle = handle();
        lock(&state.readers).insert(handle, bytes.to_vec());
        // SAFETY: the caller's promise.
        unsafe { reader.write(hsa_code_object_reader_t { handle }) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn hsa_code_object_reader_destroy(reader: hsa_code_object_reader_t) -> hsa_status_t {
    answer("hsa_code_object_reader_destroy", |state| {
        let destroyed = lock(&state.readers).remove(&reader.handle);
        let destroyed = destroyed.map(drop);
        destroyed.ok_or(HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER)
    })
}

/// # Safety
/// `executable` is valid for a handle.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hsa_executable_create_alt(
    _profile: hsa_profile_t,
    _rounding: hsa_default_float_rounding_mode_t,
    _options: *const c_char,
    executable: *mut hsa_executable_t,
) -> hsa_status_t {
    answer("hsa_executable_create_alt", |state| {
        let handle = handle();
        lock(&state.executables).insert(handle, Executable::default());
        // SAFETY: the caller's promise.
        unsafe { executable.write(hsa_executable_t { handle }) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hsa_executable_destroy(executable: hsa_executable_t) -> hsa_status_t {
    answer("hsa_executable_destroy", |state| {
        let destroyed = lock(&state.executables).remove(&executable.handle);
        let destroyed = destroyed.ok_or(HSA_STATUS_ERROR_INVALID_EXECUTABLE)?;
        for (_, object) in destroyed.loaded.iter().flat_map(|loaded| &loaded.kernels) {
            lock(&state.kernels).remove(object);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn hsa_executable_load_agent_code_object(
    executable: hsa_executable_t,
    agent: hsa_agent_t,
    reader: hsa_code_object_reader_t,
    _options: *const c_char,
    _loaded: *mut hsa_loaded_code_object_t,
) -> hsa_status_t {
    answer("hsa_executable_load_agent_code_object", |state| {
        let bytes = lock(&state.readers).get(&reader.handle).cloned();
        let bytes = bytes.ok_or(HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER)?;
        load(state, executable, agent, &bytes)
    })
}

/// Loads a code object into an executable.
pub(crate) fn load(
    state: &State,
    executable: hsa_executable_t,
    agent: hsa_agent_t,
    bytes: &[u8],
) -> Answer {
    let number = state.gpu(agent)?;
    let loaded = Content::load(&state.gpus[number].device, bytes);
    let (content, kernels) = loaded.map_err(|refused| {
        let (reason, status) = match refused {
            Refused::Machine(reason) => (reason, HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS),
            Refused::Broken(reason) => (reason, HSA_STATUS_ERROR_INVALID_CODE_OBJECT),
        };
        say(&format!("a code object does not load: {reason}"));
        status
    })?;
    let mut executables = lock(&state.executables);
    let executable = executables.get_mut(&executable.handle);
    let executable = executable.ok_or(HSA_STATUS_ERROR_INVALID_EXECUTABLE)?;
    if executable.is_frozen || executable.loaded.is_some() {
        return Err(HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
    }
    // From here on nothing fails, since the kernels are removed only when the executable is
    // destroyed.
    let kernels = kernels.into_iter().map(|kernel| {
        let (object, symbol) = (handle(), kernel.symbol.clone());
        lock(&state.kernels).insert(object, Arc::new(kernel));
        (symbol, object)
    });
    let loaded = Loaded {
        number,
        content,
        kernels: kernels.collect(),
    };
    executable.loaded = Some(loaded);
    Ok(())
}

#[expect(clippy::print_stderr, reason = "a status says too little to a test")]
pub(crate) fn say(reason: &str) {
    eprintln!("stand-in: {reason}");
}

#[unsafe(no_mangle)]
extern "C" fn hsa_executable_freeze(
    executable: hsa_executable_t,
    _options: *const c_char,
) -> hsa_status_t {
    answer("hsa_executable_freeze", |state| {
        let mut executables = lock(&state.executables);
        let executable = executables.get_mut(&executable.handle);
        executable
            .ok_or(HSA_STATUS_ERROR_INVALID_EXECUTABLE)?
            .is_frozen = true;
        Ok(())
    })
}

/// Handles of symbols, which stay valid forever.
static SYMBOLS: std::sync::Mutex<Vec<Symbol>> = std::sync::Mutex::new(Vec::new());
const FIRST_SYMBOL: u64 = 0x5b01_0000;

/// # Safety
/// `name` is a C string, `agent` valid for an agent, and `symbol` for a handle.
#[unsafe(no_mangle)]
unsafe extern "C" fn hsa_executable_get_symbol_by_name(
    executable: hsa_executable_t,
    name: *const c_char,
    agent: *const hsa_agent_t,
    symbol: *mut hsa_executable_symbol_t,
) -> hsa_status_t {
    answer("hsa_executable_get_symbol_by_name", |state| {
        // SAFETY: the caller's promise.
        let (name, agent) = unsafe { (CStr::from_ptr(name), agent.read()) };
        let handle = find(state, executable, name, agent)?;
        // SAFETY: the caller's promise.
        unsafe { symbol.write(hsa_executable_symbol_t { handle }) };
        Ok(())
    })
}

/// The handle of a symbol.
pub(crate) fn find(
    state: &State,
    executable: hsa_executable_t,
    name: &CStr,
    agent: hsa_agent_t,
) -> Answer<u64> {
    let name = name
        .to_str()
        .map_err(|_| HSA_STATUS_ERROR_INVALID_SYMBOL_NAME)?;
    let executables = lock(&state.executables);
    let executable = executables.get(&executable.handle);
    let executable = executable.ok_or(HSA_STATUS_ERROR_INVALID_EXECUTABLE)?;
    let loaded = executable.loaded.as_ref().filter(|_| executable.is_frozen);
    let loaded = loaded.ok_or(HSA_STATUS_ERROR_INVALID_EXECUTABLE)?;
    if state.gpu(agent)? != loaded.number {
        return Err(HSA_STATUS_ERROR_INVALID_AGENT);
    }
    let mut kernels = loaded.kernels.iter();
    let kernel = kernels.find(|(descriptor, _)| descriptor == name);
    let found = match (kernel, loaded.content.variable(name)) {
        (Some((_, object)), _) => Symbol::Kernel(*object),
        (None, Some(global)) => Symbol::Data(global),
        (None, None) => return Err(HSA_STATUS_ERROR_INVALID_SYMBOL_NAME),
    };
    let mut symbols = lock(&SYMBOLS);
    symbols.push(found);
    Ok(FIRST_SYMBOL + symbols.len() as u64 - 1)
}

/// # Safety
/// `value` is valid for the property.
#[unsafe(no_mangle)]
unsafe extern "C" fn hsa_executable_symbol_get_info(
    symbol: hsa_executable_symbol_t,
    what: hsa_executable_symbol_info_t,
    value: *mut c_void,
) -> hsa_status_t {
    answer("hsa_executable_symbol_get_info", |state| -> Answer {
        let symbols = lock(&SYMBOLS);
        let index = symbol.handle.checked_sub(FIRST_SYMBOL);
        let symbol = index.and_then(|index| symbols.get(index as usize));
        let symbol = symbol.ok_or(HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL)?;
        let (narrow, wide) = (value.cast::<u32>(), value.cast::<u64>());
        // SAFETY: the caller's promise, with the type that the header documents.
        unsafe {
            match (symbol, what) {
                (Symbol::Kernel(_), HSA_EXECUTABLE_SYMBOL_INFO_TYPE) => {
                    narrow.write(HSA_SYMBOL_KIND_KERNEL);
                }
                (Symbol::Kernel(object), HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT) => {
                    wide.write(*object);
                }
                (Symbol::Kernel(object), _) => {
                    let kernels = lock(&state.kernels);
                    let kernel = kernels.get(object);
                    let kernel = kernel.ok_or(HSA_STATUS_ERROR_INVALID_EXECUTABLE)?;
                    narrow.write(match what {
                        HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE => kernel.kernarg,
                        HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE => kernel.private,
                        HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE => kernel.group,
                        _ => return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
                    });
                }
                (Symbol::Data(_), HSA_EXECUTABLE_SYMBOL_INFO_TYPE) => {
                    narrow.write(HSA_SYMBOL_KIND_VARIABLE);
                }
                (Symbol::Data(global), HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS) => {
                    wide.write(global.address.0);
                }
                (Symbol::Data(global), HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE) => {
                    narrow.write(global.size as u32);
                }
                _ => return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
            }
        }
        Ok(())
    })
}
