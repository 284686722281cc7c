//! The plugins as shared objects: their exports, and loading several into one process.

use std::env;
use std::ffi::{CStr, CString, c_char, c_int};
use std::path::PathBuf;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use object::{Object, ObjectSymbol};

/// libgomp's name for a plugin, and its type of images.
const PLUGINS: [(&CStr, c_int); 2] = [(c"nvptx", 5), (c"gcn", 8)];

/// The functions that libgomp looks up.
const FUNCTIONS: [&str; 20] = [
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

fn path(name: &CStr) -> PathBuf {
    // Beside this test, where cargo has put the current build; other copies may be older.
    let here = env::current_exe().expect("this test");
    let folder = here.parent().expect("the folder of what is built");
    folder.join(format!(
        "libgomp_plugin_{}.so",
        name.to_str().expect("a name")
    ))
}

#[test]
fn they_export_what_libgomp_looks_up_and_nothing_else() {
    for (name, _) in PLUGINS {
        let path = path(name);
        let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let file = object::File::parse(&*bytes).expect("a shared object");
        let symbols = file.dynamic_symbols().filter(ObjectSymbol::is_definition);
        let mut found: Vec<&str> = symbols.filter_map(|symbol| symbol.name().ok()).collect();
        found.sort_unstable();
        assert_eq!(found, FUNCTIONS, "{name:?}");
    }
}

#[test]
fn each_is_its_own_in_a_process_that_has_all() {
    let open = |name: &CString| {
        // SAFETY: the plugins do nothing when they are loaded.
        unsafe { Library::open(Some(name.to_str().expect("a name")), RTLD_NOW | RTLD_GLOBAL) }
    };
    let plugins = PLUGINS.map(|(name, image_type)| {
        let path = CString::new(path(name).into_os_string().into_encoded_bytes()).expect("a path");
        (name, image_type, open(&path).expect("a plugin"))
    });
    for (name, image_type, plugin) in &plugins {
        // SAFETY: functions of these types, without conditions; the name is a static C string.
        let (its_name, its_type) = unsafe {
            let get_name = plugin.get::<extern "C" fn() -> *const c_char>(b"GOMP_OFFLOAD_get_name");
            let get_type = plugin.get::<extern "C" fn() -> c_int>(b"GOMP_OFFLOAD_get_type");
            let its_name = get_name.expect("a function")();
            (CStr::from_ptr(its_name), get_type.expect("a function")())
        };
        assert_eq!((its_name, its_type), (*name, *image_type));
        // It is loaded under the name that libgomp uses.
        let loaded = format!("libgomp-plugin-{}.so.1", name.to_str().expect("a name"));
        // SAFETY: nothing is loaded.
        let found = unsafe { Library::open(Some(&loaded), RTLD_NOW | libc::RTLD_NOLOAD) };
        assert!(found.is_ok(), "{loaded}: {found:?}");
    }
}
