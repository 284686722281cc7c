//! The shared object has the functions that libgomp looks up, and nothing else that another
//! object could take for its own.

use std::env;

use gomp_plugin::interface::FUNCTIONS;
use object::{Object, ObjectSymbol};

#[test]
fn what_libgomp_looks_up_is_there() {
    // Beside this test, where what it was built with is; copies of it may be older.
    let here = env::current_exe().expect("this test");
    let folder = here.parent().expect("the folder of what is built");
    let path = folder.join("libgomp_plugin_gcn.so");
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let file = object::File::parse(&*bytes).expect("a shared object");
    let symbols = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition());
    let mut found: Vec<&str> = symbols.filter_map(|symbol| symbol.name().ok()).collect();
    found.sort_unstable();
    let mut expected = FUNCTIONS.to_vec();
    expected.push("REVOFF_GOMP_KIND");
    assert_eq!(found, expected);
}
