//! A host program that binds functions and calls none must not need `GOMP_target_ext`, optimised or
//! not. Nothing in this test defines it.

use std::fs;
use std::path::PathBuf;

use host_fn_test_calls::{Ping, ReadChunk};
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSymbol};
use revoff_fn::HostFunction;

#[test]
fn a_program_that_only_binds_links() {
    let functions: Vec<Box<dyn HostFunction>> = vec![
        Box::new(ReadChunk::bind(|_, _, buf| buf.len() as u32)),
        Box::new(Ping::try_bind(|| Err("not today"))),
    ];
    assert_eq!(functions[0].name(), "read_chunk");
    assert_eq!(functions[0].signature(), ReadChunk::SIGNATURE);
    assert_eq!(functions[1].name(), Ping::NAME);
}

/// Some linkers ignore references from unused code, so the test above may pass by luck. This one
/// looks at the library itself.
#[test]
fn the_library_of_declarations_refers_to_no_device_runtime() {
    let library = fs::read(declarations()).unwrap();
    let archive = ArchiveFile::parse(&*library).unwrap();
    let mut defined = false;
    for member in archive.members() {
        let data = member.unwrap().data(&*library).unwrap();
        // Among the members is the compiler's own metadata.
        let Ok(file) = object::File::parse(data) else {
            continue;
        };
        for symbol in file.symbols() {
            let name = symbol.name().unwrap_or_default();
            defined |= symbol.is_definition() && name.ends_with("__revoff_fn_read_chunk");
            assert!(
                !name.ends_with("GOMP_target_ext"),
                "a stub was compiled on its own"
            );
        }
    }
    assert!(defined, "this is the wrong library, or it has no code");
}

/// The library that this test was linked with: the newest of its name beside it.
fn declarations() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    fs::read_dir(here.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| {
            let name = entry.file_name().into_string().unwrap_or_default();
            name.starts_with("libhost_fn_test_calls") && name.ends_with(".rlib")
        })
        .max_by_key(|entry| entry.metadata().unwrap().modified().unwrap())
        .expect("the test was linked with it")
        .path()
}
