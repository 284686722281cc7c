//! What a plugin has to have.

/// The functions that libgomp looks up in a plugin that does OpenMP, of all its versions from
/// GCC 13 to 16, and those that it can do without and that are here: for tests of what a plugin
/// exports.
pub const FUNCTIONS: [&str; 20] = [
    "GOMP_OFFLOAD_alloc",
    "GOMP_OFFLOAD_async_run",
    "GOMP_OFFLOAD_can_run",
    "GOMP_OFFLOAD_dev2dev",
    "GOMP_OFFLOAD_dev2host",
    "GOMP_OFFLOAD_fini_device",
    "GOMP_OFFLOAD_free",
    "GOMP_OFFLOAD_get_caps",
    "GOMP_OFFLOAD_get_name",
    "GOMP_OFFLOAD_get_num_devices",
    "GOMP_OFFLOAD_get_type",
    "GOMP_OFFLOAD_get_uid",
    "GOMP_OFFLOAD_host2dev",
    "GOMP_OFFLOAD_init_device",
    "GOMP_OFFLOAD_is_accessible_ptr",
    "GOMP_OFFLOAD_load_image",
    "GOMP_OFFLOAD_memset",
    "GOMP_OFFLOAD_run",
    "GOMP_OFFLOAD_unload_image",
    "GOMP_OFFLOAD_version",
];
