//! The functions by name.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::LazyLock;

use emu_driver::calls;
use hsa_runtime_sys::hsa_status_t;

use crate::runtime::answer;
use crate::status::Status;

/// Calls a macro with the lists of all functions of ROCr 5.2 to 6.3: those that are there, and those that are not
/// supported.
#[macro_export]
macro_rules! runtime_functions {
    ($use:path) => {
        $use! {
            functions {
                hsa_agent_extension_supported: $crate::api::extension::hsa_agent_extension_supported;
                hsa_agent_get_exception_policies: $crate::api::agent::hsa_agent_get_exception_policies;
                hsa_agent_get_info: $crate::api::agent::hsa_agent_get_info;
                hsa_agent_iterate_caches: $crate::api::cache::hsa_agent_iterate_caches;
                hsa_agent_iterate_isas: $crate::api::isa::hsa_agent_iterate_isas;
                hsa_agent_iterate_regions: $crate::api::region::hsa_agent_iterate_regions;
                hsa_agent_major_extension_supported: $crate::api::extension::hsa_agent_major_extension_supported;
                hsa_amd_agent_iterate_memory_pools: $crate::api::pool::hsa_amd_agent_iterate_memory_pools;
                hsa_amd_agent_memory_pool_get_info: $crate::api::pool::hsa_amd_agent_memory_pool_get_info;
                hsa_amd_agents_allow_access: $crate::api::memory::hsa_amd_agents_allow_access;
                hsa_amd_async_function: $crate::api::signal::hsa_amd_async_function;
                hsa_amd_coherency_get_type: $crate::api::queue::hsa_amd_coherency_get_type;
                hsa_amd_coherency_set_type: $crate::api::queue::hsa_amd_coherency_set_type;
                hsa_amd_deregister_deallocation_callback: $crate::api::memory::hsa_amd_deregister_deallocation_callback;
                hsa_amd_memory_async_copy: $crate::api::copy::hsa_amd_memory_async_copy;
                hsa_amd_memory_async_copy_on_engine: $crate::api::copy::hsa_amd_memory_async_copy_on_engine;
                hsa_amd_memory_async_copy_rect: $crate::api::copy::hsa_amd_memory_async_copy_rect;
                hsa_amd_memory_fill: $crate::api::memory::hsa_amd_memory_fill;
                hsa_amd_memory_lock: $crate::api::lock::hsa_amd_memory_lock;
                hsa_amd_memory_lock_to_pool: $crate::api::lock::hsa_amd_memory_lock_to_pool;
                hsa_amd_memory_pool_allocate: $crate::api::pool::hsa_amd_memory_pool_allocate;
                hsa_amd_memory_pool_can_migrate: $crate::api::pool::hsa_amd_memory_pool_can_migrate;
                hsa_amd_memory_pool_free: $crate::api::pool::hsa_amd_memory_pool_free;
                hsa_amd_memory_pool_get_info: $crate::api::pool::hsa_amd_memory_pool_get_info;
                hsa_amd_memory_unlock: $crate::api::lock::hsa_amd_memory_unlock;
                hsa_amd_pointer_info: $crate::api::pointer::hsa_amd_pointer_info;
                hsa_amd_pointer_info_set_userdata: $crate::api::pointer::hsa_amd_pointer_info_set_userdata;
                hsa_amd_profiling_async_copy_enable: $crate::api::profiling::hsa_amd_profiling_async_copy_enable;
                hsa_amd_profiling_convert_tick_to_system_domain: $crate::api::profiling::hsa_amd_profiling_convert_tick_to_system_domain;
                hsa_amd_profiling_get_async_copy_time: $crate::api::profiling::hsa_amd_profiling_get_async_copy_time;
                hsa_amd_profiling_get_dispatch_time: $crate::api::profiling::hsa_amd_profiling_get_dispatch_time;
                hsa_amd_profiling_set_profiler_enabled: $crate::api::profiling::hsa_amd_profiling_set_profiler_enabled;
                hsa_amd_queue_cu_get_mask: $crate::api::queue::hsa_amd_queue_cu_get_mask;
                hsa_amd_queue_cu_set_mask: $crate::api::queue::hsa_amd_queue_cu_set_mask;
                hsa_amd_queue_set_priority: $crate::api::queue::hsa_amd_queue_set_priority;
                hsa_amd_register_deallocation_callback: $crate::api::memory::hsa_amd_register_deallocation_callback;
                hsa_amd_register_system_event_handler: $crate::api::event::hsa_amd_register_system_event_handler;
                hsa_amd_signal_async_handler: $crate::api::signal::hsa_amd_signal_async_handler;
                hsa_amd_signal_create: $crate::api::signal::hsa_amd_signal_create;
                hsa_amd_signal_value_pointer: $crate::api::signal::hsa_amd_signal_value_pointer;
                hsa_amd_signal_wait_all: $crate::api::signal::hsa_amd_signal_wait_all;
                hsa_amd_signal_wait_any: $crate::api::signal::hsa_amd_signal_wait_any;
                hsa_cache_get_info: $crate::api::cache::hsa_cache_get_info;
                hsa_code_object_deserialize: $crate::api::code_object::hsa_code_object_deserialize;
                hsa_code_object_destroy: $crate::api::code_object::hsa_code_object_destroy;
                hsa_code_object_get_info: $crate::api::code_object::hsa_code_object_get_info;
                hsa_code_object_reader_create_from_file: $crate::api::code_object::hsa_code_object_reader_create_from_file;
                hsa_code_object_reader_create_from_memory: $crate::api::code_object::hsa_code_object_reader_create_from_memory;
                hsa_code_object_reader_destroy: $crate::api::code_object::hsa_code_object_reader_destroy;
                hsa_executable_agent_global_variable_define: $crate::api::executable::hsa_executable_agent_global_variable_define;
                hsa_executable_create: $crate::api::executable::hsa_executable_create;
                hsa_executable_create_alt: $crate::api::executable::hsa_executable_create_alt;
                hsa_executable_destroy: $crate::api::executable::hsa_executable_destroy;
                hsa_executable_freeze: $crate::api::executable::hsa_executable_freeze;
                hsa_executable_get_info: $crate::api::executable::hsa_executable_get_info;
                hsa_executable_get_symbol: $crate::api::symbol::hsa_executable_get_symbol;
                hsa_executable_get_symbol_by_name: $crate::api::symbol::hsa_executable_get_symbol_by_name;
                hsa_executable_global_variable_define: $crate::api::executable::hsa_executable_global_variable_define;
                hsa_executable_iterate_agent_symbols: $crate::api::symbol::hsa_executable_iterate_agent_symbols;
                hsa_executable_iterate_program_symbols: $crate::api::symbol::hsa_executable_iterate_program_symbols;
                hsa_executable_iterate_symbols: $crate::api::symbol::hsa_executable_iterate_symbols;
                hsa_executable_load_agent_code_object: $crate::api::executable::hsa_executable_load_agent_code_object;
                hsa_executable_load_code_object: $crate::api::executable::hsa_executable_load_code_object;
                hsa_executable_load_program_code_object: $crate::api::executable::hsa_executable_load_program_code_object;
                hsa_executable_readonly_variable_define: $crate::api::executable::hsa_executable_readonly_variable_define;
                hsa_executable_symbol_get_info: $crate::api::symbol::hsa_executable_symbol_get_info;
                hsa_executable_validate: $crate::api::executable::hsa_executable_validate;
                hsa_executable_validate_alt: $crate::api::executable::hsa_executable_validate_alt;
                hsa_extension_get_name: $crate::api::extension::hsa_extension_get_name;
                hsa_init: $crate::api::system::hsa_init;
                hsa_isa_compatible: $crate::api::isa::hsa_isa_compatible;
                hsa_isa_from_name: $crate::api::isa::hsa_isa_from_name;
                hsa_isa_get_exception_policies: $crate::api::isa::hsa_isa_get_exception_policies;
                hsa_isa_get_info: $crate::api::isa::hsa_isa_get_info;
                hsa_isa_get_info_alt: $crate::api::isa::hsa_isa_get_info_alt;
                hsa_isa_get_round_method: $crate::api::isa::hsa_isa_get_round_method;
                hsa_isa_iterate_wavefronts: $crate::api::isa::hsa_isa_iterate_wavefronts;
                hsa_iterate_agents: $crate::api::agent::hsa_iterate_agents;
                hsa_memory_allocate: $crate::api::region::hsa_memory_allocate;
                hsa_memory_assign_agent: $crate::api::memory::hsa_memory_assign_agent;
                hsa_memory_copy: $crate::api::memory::hsa_memory_copy;
                hsa_memory_deregister: $crate::api::lock::hsa_memory_deregister;
                hsa_memory_free: $crate::api::memory::hsa_memory_free;
                hsa_memory_register: $crate::api::lock::hsa_memory_register;
                hsa_queue_add_write_index_acq_rel: $crate::api::queue_index::hsa_queue_add_write_index_acq_rel;
                hsa_queue_add_write_index_acquire: $crate::api::queue_index::hsa_queue_add_write_index_acquire;
                hsa_queue_add_write_index_relaxed: $crate::api::queue_index::hsa_queue_add_write_index_relaxed;
                hsa_queue_add_write_index_release: $crate::api::queue_index::hsa_queue_add_write_index_release;
                hsa_queue_add_write_index_scacq_screl: $crate::api::queue_index::hsa_queue_add_write_index_scacq_screl;
                hsa_queue_add_write_index_scacquire: $crate::api::queue_index::hsa_queue_add_write_index_scacquire;
                hsa_queue_add_write_index_screlease: $crate::api::queue_index::hsa_queue_add_write_index_screlease;
                hsa_queue_cas_write_index_acq_rel: $crate::api::queue_index::hsa_queue_cas_write_index_acq_rel;
                hsa_queue_cas_write_index_acquire: $crate::api::queue_index::hsa_queue_cas_write_index_acquire;
                hsa_queue_cas_write_index_relaxed: $crate::api::queue_index::hsa_queue_cas_write_index_relaxed;
                hsa_queue_cas_write_index_release: $crate::api::queue_index::hsa_queue_cas_write_index_release;
                hsa_queue_cas_write_index_scacq_screl: $crate::api::queue_index::hsa_queue_cas_write_index_scacq_screl;
                hsa_queue_cas_write_index_scacquire: $crate::api::queue_index::hsa_queue_cas_write_index_scacquire;
                hsa_queue_cas_write_index_screlease: $crate::api::queue_index::hsa_queue_cas_write_index_screlease;
                hsa_queue_create: $crate::api::queue::hsa_queue_create;
                hsa_queue_destroy: $crate::api::queue::hsa_queue_destroy;
                hsa_queue_inactivate: $crate::api::queue::hsa_queue_inactivate;
                hsa_queue_load_read_index_acquire: $crate::api::queue_index::hsa_queue_load_read_index_acquire;
                hsa_queue_load_read_index_relaxed: $crate::api::queue_index::hsa_queue_load_read_index_relaxed;
                hsa_queue_load_read_index_scacquire: $crate::api::queue_index::hsa_queue_load_read_index_scacquire;
                hsa_queue_load_write_index_acquire: $crate::api::queue_index::hsa_queue_load_write_index_acquire;
                hsa_queue_load_write_index_relaxed: $crate::api::queue_index::hsa_queue_load_write_index_relaxed;
                hsa_queue_load_write_index_scacquire: $crate::api::queue_index::hsa_queue_load_write_index_scacquire;
                hsa_queue_store_read_index_relaxed: $crate::api::queue_index::hsa_queue_store_read_index_relaxed;
                hsa_queue_store_read_index_release: $crate::api::queue_index::hsa_queue_store_read_index_release;
                hsa_queue_store_read_index_screlease: $crate::api::queue_index::hsa_queue_store_read_index_screlease;
                hsa_queue_store_write_index_relaxed: $crate::api::queue_index::hsa_queue_store_write_index_relaxed;
                hsa_queue_store_write_index_release: $crate::api::queue_index::hsa_queue_store_write_index_release;
                hsa_queue_store_write_index_screlease: $crate::api::queue_index::hsa_queue_store_write_index_screlease;
                hsa_region_get_info: $crate::api::region::hsa_region_get_info;
                hsa_shut_down: $crate::api::system::hsa_shut_down;
                hsa_signal_add_acq_rel: $crate::api::signal_value::hsa_signal_add_acq_rel;
                hsa_signal_add_acquire: $crate::api::signal_value::hsa_signal_add_acquire;
                hsa_signal_add_relaxed: $crate::api::signal_value::hsa_signal_add_relaxed;
                hsa_signal_add_release: $crate::api::signal_value::hsa_signal_add_release;
                hsa_signal_add_scacq_screl: $crate::api::signal_value::hsa_signal_add_scacq_screl;
                hsa_signal_add_scacquire: $crate::api::signal_value::hsa_signal_add_scacquire;
                hsa_signal_add_screlease: $crate::api::signal_value::hsa_signal_add_screlease;
                hsa_signal_and_acq_rel: $crate::api::signal_value::hsa_signal_and_acq_rel;
                hsa_signal_and_acquire: $crate::api::signal_value::hsa_signal_and_acquire;
                hsa_signal_and_relaxed: $crate::api::signal_value::hsa_signal_and_relaxed;
                hsa_signal_and_release: $crate::api::signal_value::hsa_signal_and_release;
                hsa_signal_and_scacq_screl: $crate::api::signal_value::hsa_signal_and_scacq_screl;
                hsa_signal_and_scacquire: $crate::api::signal_value::hsa_signal_and_scacquire;
                hsa_signal_and_screlease: $crate::api::signal_value::hsa_signal_and_screlease;
                hsa_signal_cas_acq_rel: $crate::api::signal_value::hsa_signal_cas_acq_rel;
                hsa_signal_cas_acquire: $crate::api::signal_value::hsa_signal_cas_acquire;
                hsa_signal_cas_relaxed: $crate::api::signal_value::hsa_signal_cas_relaxed;
                hsa_signal_cas_release: $crate::api::signal_value::hsa_signal_cas_release;
                hsa_signal_cas_scacq_screl: $crate::api::signal_value::hsa_signal_cas_scacq_screl;
                hsa_signal_cas_scacquire: $crate::api::signal_value::hsa_signal_cas_scacquire;
                hsa_signal_cas_screlease: $crate::api::signal_value::hsa_signal_cas_screlease;
                hsa_signal_create: $crate::api::signal::hsa_signal_create;
                hsa_signal_destroy: $crate::api::signal::hsa_signal_destroy;
                hsa_signal_exchange_acq_rel: $crate::api::signal_value::hsa_signal_exchange_acq_rel;
                hsa_signal_exchange_acquire: $crate::api::signal_value::hsa_signal_exchange_acquire;
                hsa_signal_exchange_relaxed: $crate::api::signal_value::hsa_signal_exchange_relaxed;
                hsa_signal_exchange_release: $crate::api::signal_value::hsa_signal_exchange_release;
                hsa_signal_exchange_scacq_screl: $crate::api::signal_value::hsa_signal_exchange_scacq_screl;
                hsa_signal_exchange_scacquire: $crate::api::signal_value::hsa_signal_exchange_scacquire;
                hsa_signal_exchange_screlease: $crate::api::signal_value::hsa_signal_exchange_screlease;
                hsa_signal_group_create: $crate::api::signal_group::hsa_signal_group_create;
                hsa_signal_group_destroy: $crate::api::signal_group::hsa_signal_group_destroy;
                hsa_signal_group_wait_any_relaxed: $crate::api::signal_group::hsa_signal_group_wait_any_relaxed;
                hsa_signal_group_wait_any_scacquire: $crate::api::signal_group::hsa_signal_group_wait_any_scacquire;
                hsa_signal_load_acquire: $crate::api::signal_value::hsa_signal_load_acquire;
                hsa_signal_load_relaxed: $crate::api::signal_value::hsa_signal_load_relaxed;
                hsa_signal_load_scacquire: $crate::api::signal_value::hsa_signal_load_scacquire;
                hsa_signal_or_acq_rel: $crate::api::signal_value::hsa_signal_or_acq_rel;
                hsa_signal_or_acquire: $crate::api::signal_value::hsa_signal_or_acquire;
                hsa_signal_or_relaxed: $crate::api::signal_value::hsa_signal_or_relaxed;
                hsa_signal_or_release: $crate::api::signal_value::hsa_signal_or_release;
                hsa_signal_or_scacq_screl: $crate::api::signal_value::hsa_signal_or_scacq_screl;
                hsa_signal_or_scacquire: $crate::api::signal_value::hsa_signal_or_scacquire;
                hsa_signal_or_screlease: $crate::api::signal_value::hsa_signal_or_screlease;
                hsa_signal_silent_store_relaxed: $crate::api::signal_value::hsa_signal_silent_store_relaxed;
                hsa_signal_silent_store_screlease: $crate::api::signal_value::hsa_signal_silent_store_screlease;
                hsa_signal_store_relaxed: $crate::api::signal_value::hsa_signal_store_relaxed;
                hsa_signal_store_release: $crate::api::signal_value::hsa_signal_store_release;
                hsa_signal_store_screlease: $crate::api::signal_value::hsa_signal_store_screlease;
                hsa_signal_subtract_acq_rel: $crate::api::signal_value::hsa_signal_subtract_acq_rel;
                hsa_signal_subtract_acquire: $crate::api::signal_value::hsa_signal_subtract_acquire;
                hsa_signal_subtract_relaxed: $crate::api::signal_value::hsa_signal_subtract_relaxed;
                hsa_signal_subtract_release: $crate::api::signal_value::hsa_signal_subtract_release;
                hsa_signal_subtract_scacq_screl: $crate::api::signal_value::hsa_signal_subtract_scacq_screl;
                hsa_signal_subtract_scacquire: $crate::api::signal_value::hsa_signal_subtract_scacquire;
                hsa_signal_subtract_screlease: $crate::api::signal_value::hsa_signal_subtract_screlease;
                hsa_signal_wait_acquire: $crate::api::signal::hsa_signal_wait_acquire;
                hsa_signal_wait_relaxed: $crate::api::signal::hsa_signal_wait_relaxed;
                hsa_signal_wait_scacquire: $crate::api::signal::hsa_signal_wait_scacquire;
                hsa_signal_xor_acq_rel: $crate::api::signal_value::hsa_signal_xor_acq_rel;
                hsa_signal_xor_acquire: $crate::api::signal_value::hsa_signal_xor_acquire;
                hsa_signal_xor_relaxed: $crate::api::signal_value::hsa_signal_xor_relaxed;
                hsa_signal_xor_release: $crate::api::signal_value::hsa_signal_xor_release;
                hsa_signal_xor_scacq_screl: $crate::api::signal_value::hsa_signal_xor_scacq_screl;
                hsa_signal_xor_scacquire: $crate::api::signal_value::hsa_signal_xor_scacquire;
                hsa_signal_xor_screlease: $crate::api::signal_value::hsa_signal_xor_screlease;
                hsa_soft_queue_create: $crate::api::queue::hsa_soft_queue_create;
                hsa_status_string: $crate::api::system::hsa_status_string;
                hsa_system_extension_supported: $crate::api::extension::hsa_system_extension_supported;
                hsa_system_get_extension_table: $crate::api::extension::hsa_system_get_extension_table;
                hsa_system_get_info: $crate::api::system::hsa_system_get_info;
                hsa_system_get_major_extension_table: $crate::api::extension::hsa_system_get_major_extension_table;
                hsa_system_major_extension_supported: $crate::api::extension::hsa_system_major_extension_supported;
                hsa_wavefront_get_info: $crate::api::isa::hsa_wavefront_get_info;
            }
            unsupported {
                hsa_amd_agent_set_async_scratch_limit;
                hsa_amd_enable_logging;
                hsa_amd_image_create;
                hsa_amd_image_get_info_max_dim;
                hsa_amd_interop_map_buffer;
                hsa_amd_interop_unmap_buffer;
                hsa_amd_ipc_memory_attach;
                hsa_amd_ipc_memory_create;
                hsa_amd_ipc_memory_detach;
                hsa_amd_ipc_signal_attach;
                hsa_amd_ipc_signal_create;
                hsa_amd_memory_copy_engine_status;
                hsa_amd_memory_get_preferred_copy_engine;
                hsa_amd_memory_migrate;
                hsa_amd_portable_close_dmabuf;
                hsa_amd_portable_export_dmabuf;
                hsa_amd_portable_export_dmabuf_v2;
                hsa_amd_queue_get_info;
                hsa_amd_spm_acquire;
                hsa_amd_spm_release;
                hsa_amd_spm_set_dest_buffer;
                hsa_amd_svm_attributes_get;
                hsa_amd_svm_attributes_set;
                hsa_amd_svm_prefetch_async;
                hsa_amd_vmem_address_free;
                hsa_amd_vmem_address_reserve;
                hsa_amd_vmem_address_reserve_align;
                hsa_amd_vmem_export_shareable_handle;
                hsa_amd_vmem_get_access;
                hsa_amd_vmem_get_alloc_properties_from_handle;
                hsa_amd_vmem_handle_create;
                hsa_amd_vmem_handle_release;
                hsa_amd_vmem_import_shareable_handle;
                hsa_amd_vmem_map;
                hsa_amd_vmem_retain_alloc_handle;
                hsa_amd_vmem_set_access;
                hsa_amd_vmem_unmap;
                hsa_code_object_get_symbol;
                hsa_code_object_get_symbol_from_name;
                hsa_code_object_iterate_symbols;
                hsa_code_object_serialize;
                hsa_code_symbol_get_info;
                hsa_ext_image_clear;
                hsa_ext_image_copy;
                hsa_ext_image_create;
                hsa_ext_image_create_with_layout;
                hsa_ext_image_data_get_info;
                hsa_ext_image_data_get_info_with_layout;
                hsa_ext_image_destroy;
                hsa_ext_image_export;
                hsa_ext_image_get_capability;
                hsa_ext_image_get_capability_with_layout;
                hsa_ext_image_import;
                hsa_ext_program_add_module;
                hsa_ext_program_create;
                hsa_ext_program_destroy;
                hsa_ext_program_finalize;
                hsa_ext_program_get_info;
                hsa_ext_program_iterate_modules;
                hsa_ext_sampler_create;
                hsa_ext_sampler_destroy;
            }
        }
    };
}

/// The address of a function.
#[derive(Clone, Copy)]
struct Address(*const c_void);

// SAFETY: functions may be called by all threads.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

macro_rules! table {
    (
        functions { $($name:ident: $function:path;)* }
        unsupported { $($missing:ident;)* }
    ) => {
        static TABLE: LazyLock<HashMap<&str, Address>> = LazyLock::new(|| {
            HashMap::from([
                $((stringify!($name), Address($function as *const c_void)),)*
                $((stringify!($missing), Address(missing::$missing as *const c_void)),)*
            ])
        });

        /// Functions that are not supported. They take no arguments and so ignore those that callers
        /// pass, which C's calling convention allows.
        pub mod missing {
            use hsa_runtime_sys::hsa_status_t;

            $(
                #[doc = "Not supported."]
                pub extern "C" fn $missing() -> hsa_status_t {
                    crate::functions::unsupported(stringify!($missing))
                }
            )*
        }
    };
}

runtime_functions!(table);

/// A function that is not supported was called: ROCr has no status for that.
fn unsupported(function: &'static str) -> hsa_status_t {
    answer(function, |_| {
        tracing::warn!("{function} is not supported");
        Err(Status::ERROR)
    })
}

/// The names of all functions.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.keys().copied()
}

/// The address of the function with a name.
#[must_use]
pub fn function(name: &str) -> Option<*const c_void> {
    calls::note(name);
    TABLE.get(name).map(|address| address.0)
}
