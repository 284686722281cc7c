//! Symbols of executables.

use std::ffi::{c_char, c_void};

use hsa_runtime_sys::*;

use crate::code::{Symbol, SymbolTarget};
use crate::pointers::{In, Out, Text};
use crate::runtime::{Runtime, answer};
use crate::status::{Answer, Status, from_callback};

/// Alignment of arguments, and of variables.
const KERNARG_ALIGN: u32 = 16;
const VARIABLE_ALIGN: u32 = 256;

/// Finds a symbol by its name; `agent` may be left out.
fn find(
    runtime: &Runtime,
    executable: hsa_executable_t,
    name: &Text,
    agent: Option<hsa_agent_t>,
    symbol: Out<hsa_executable_symbol_t>,
) -> Answer {
    if let Some(agent) = agent {
        runtime.agent(agent)?;
    }
    if symbol.is_null() {
        return Err(Status::INVALID_ARGUMENT);
    }
    let name = name.read()?;
    runtime.with_executable(executable, |executable| {
        if !executable.is_frozen && runtime.is_strict() {
            return Err(Status::INVALID_EXECUTABLE);
        }
        let handle = executable.symbol(name, agent)?.handle;
        symbol.set(hsa_executable_symbol_t { handle })
    })
}

pub extern "C" fn hsa_executable_get_symbol_by_name(
    executable: hsa_executable_t,
    name: Text,
    agent: In<hsa_agent_t>,
    symbol: Out<hsa_executable_symbol_t>,
) -> hsa_status_t {
    answer("hsa_executable_get_symbol_by_name", |runtime| {
        find(runtime, executable, &name, agent.get().ok(), symbol)
    })
}

pub extern "C" fn hsa_executable_get_symbol(
    executable: hsa_executable_t,
    _module: In<u8>,
    name: Text,
    agent: hsa_agent_t,
    _convention: i32,
    symbol: Out<hsa_executable_symbol_t>,
) -> hsa_status_t {
    answer("hsa_executable_get_symbol", |runtime| {
        find(runtime, executable, &name, Some(agent), symbol)
    })
}

pub extern "C" fn hsa_executable_symbol_get_info(
    symbol: hsa_executable_symbol_t,
    what: hsa_executable_symbol_info_t,
    value: Out<c_void>,
) -> hsa_status_t {
    answer("hsa_executable_symbol_get_info", |runtime| {
        runtime.with_symbol(symbol, |symbol| info(symbol, what, value))
    })
}

fn info(symbol: &Symbol, what: hsa_executable_symbol_info_t, value: Out<c_void>) -> Answer {
    match what {
        HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH => value.of::<u32>().set(symbol.name.len() as u32),
        HSA_EXECUTABLE_SYMBOL_INFO_NAME => {
            // No terminating zero, as in ROCr.
            value
                .of::<u8>()
                .set_all(symbol.name.bytes(), symbol.name.len())
        }
        HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME_LENGTH => value.of::<u32>().set(0),
        HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME => value.of::<c_char>().set_all([], 0),
        HSA_EXECUTABLE_SYMBOL_INFO_AGENT => value.of::<hsa_agent_t>().set(symbol.agent),
        HSA_EXECUTABLE_SYMBOL_INFO_LINKAGE => value.of::<u32>().set(HSA_SYMBOL_LINKAGE_PROGRAM),
        HSA_EXECUTABLE_SYMBOL_INFO_IS_DEFINITION => value.of::<bool>().set(true),
        _ => of_target(&symbol.target, what, value),
    }
}

/// Writes a property that is a number of 32 bits.
fn number(value: Out<c_void>, number: u32) -> Answer {
    value.of::<u32>().set(number)
}

fn of_target(
    target: &SymbolTarget,
    what: hsa_executable_symbol_info_t,
    value: Out<c_void>,
) -> Answer {
    match target {
        SymbolTarget::Kernel {
            kernel,
            has_dynamic_stack,
        } => {
            let descriptor = &kernel.descriptor;
            match what {
                HSA_EXECUTABLE_SYMBOL_INFO_TYPE => number(value, HSA_SYMBOL_KIND_KERNEL),
                HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT => value.of::<u64>().set(kernel.object),
                HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE => {
                    number(value, descriptor.kernarg_bytes)
                }
                HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT => {
                    number(value, KERNARG_ALIGN)
                }
                HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE => {
                    number(value, descriptor.group_bytes)
                }
                HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE => {
                    number(value, descriptor.private_bytes)
                }
                HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK => {
                    value.of::<bool>().set(*has_dynamic_stack)
                }
                HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_CALL_CONVENTION => number(value, 0),
                _ => Err(Status::INVALID_ARGUMENT),
            }
        }
        SymbolTarget::Variable {
            address,
            bytes,
            is_constant,
        } => {
            match what {
                HSA_EXECUTABLE_SYMBOL_INFO_TYPE => number(value, HSA_SYMBOL_KIND_VARIABLE),
                HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS => value.of::<u64>().set(*address),
                // The interface has 32 bits for it.
                HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE => number(value, *bytes as u32),
                HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALLOCATION => {
                    number(value, HSA_VARIABLE_ALLOCATION_AGENT)
                }
                HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SEGMENT => number(
                    value,
                    match is_constant {
                        true => HSA_VARIABLE_SEGMENT_READONLY,
                        false => HSA_VARIABLE_SEGMENT_GLOBAL,
                    },
                ),
                HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALIGNMENT => number(
                    value,
                    match address {
                        0 => VARIABLE_ALIGN,
                        address => (1 << address.trailing_zeros().min(31)).min(VARIABLE_ALIGN),
                    },
                ),
                HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST => {
                    value.of::<bool>().set(*is_constant)
                }
                _ => Err(Status::INVALID_ARGUMENT),
            }
        }
    }
}

/// The handles of an executable's symbols, on one GPU or all.
fn symbols(
    runtime: &Runtime,
    executable: hsa_executable_t,
    agent: Option<hsa_agent_t>,
) -> Answer<Vec<u64>> {
    runtime.with_executable(executable, |executable| {
        let symbols = executable.symbols.values();
        let symbols =
            symbols.filter(|symbol| agent.is_none_or(|agent| agent.handle == symbol.agent.handle));
        Ok(symbols.map(|symbol| symbol.handle).collect())
    })
}

type Callback =
    unsafe extern "C" fn(hsa_executable_t, hsa_executable_symbol_t, *mut c_void) -> hsa_status_t;

pub extern "C" fn hsa_executable_iterate_symbols(
    executable: hsa_executable_t,
    callback: Option<Callback>,
    data: *mut c_void,
) -> hsa_status_t {
    answer("hsa_executable_iterate_symbols", |runtime| {
        let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
        let symbols = symbols(runtime, executable, None)?;
        symbols.into_iter().try_for_each(|handle| {
            let symbol = hsa_executable_symbol_t { handle };
            // SAFETY: the program's function takes an executable, a symbol and its data.
            from_callback(unsafe { callback(executable, symbol, data) })
        })
    })
}

type AgentCallback = unsafe extern "C" fn(
    hsa_executable_t,
    hsa_agent_t,
    hsa_executable_symbol_t,
    *mut c_void,
) -> hsa_status_t;

pub extern "C" fn hsa_executable_iterate_agent_symbols(
    executable: hsa_executable_t,
    agent: hsa_agent_t,
    callback: Option<AgentCallback>,
    data: *mut c_void,
) -> hsa_status_t {
    answer("hsa_executable_iterate_agent_symbols", |runtime| {
        let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
        runtime.agent(agent)?;
        let symbols = symbols(runtime, executable, Some(agent))?;
        symbols.into_iter().try_for_each(|handle| {
            let symbol = hsa_executable_symbol_t { handle };
            // SAFETY: the program's function takes an executable, an agent, a symbol and its data.
            from_callback(unsafe { callback(executable, agent, symbol, data) })
        })
    })
}

/// Reports no symbols without an agent: every symbol has one.
pub extern "C" fn hsa_executable_iterate_program_symbols(
    executable: hsa_executable_t,
    callback: Option<Callback>,
    _data: *mut c_void,
) -> hsa_status_t {
    answer("hsa_executable_iterate_program_symbols", |runtime| {
        callback.ok_or(Status::INVALID_ARGUMENT)?;
        runtime.with_executable(executable, |_| Ok(()))
    })
}
