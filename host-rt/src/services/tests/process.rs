//! Arguments, environment, time, randomness and exit.

use std::env;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use super::super::ServicesError;
use super::super::process::{error_text, random, system_time};
use super::*;

#[test]
fn arguments_and_environment_are_lists() {
    let services = build(
        Services::builder()
            .arguments(["program", "", "two words"])
            .environment([("HOME", "/home/me"), ("EMPTY", ""), ("=odd", "a=b")])
            .program("/bin/program"),
    );
    assert_eq!(
        text(|list| services.arguments(list)),
        b"program\0\0two words\0"
    );
    assert_eq!(
        text(|list| services.environment(list)),
        b"HOME=/home/me\0EMPTY=\0=odd=a=b\0"
    );
    assert_eq!(text(|path| services.program(path)), b"/bin/program");
}

#[test]
fn the_path_of_the_program_becomes_absolute() {
    let services = build(Services::builder().program("program"));
    let path = env::current_dir().unwrap().join("program");
    assert_eq!(text(|to| services.program(to)), path.as_os_str().as_bytes());
}

#[test]
fn nothing_of_the_process_is_given_without_being_asked_for() {
    let services = build(Services::builder());
    assert_eq!(text(|list| services.arguments(list)), b"");
    assert_eq!(text(|list| services.environment(list)), b"");
    assert_eq!(number(services.program(&mut [])), libc::ENOENT);
}

#[test]
fn a_short_buffer_gets_the_start_and_the_whole_length() {
    let services = build(Services::builder().program("/bin/program"));
    let mut short = [0; 4];
    assert_eq!(services.program(&mut short).unwrap(), 12);
    assert_eq!(&short, b"/bin");
}

#[test]
fn invalid_settings_are_rejected() {
    let builder = Services::builder;
    let nul = [
        builder().arguments(["a\0b"]),
        builder().environment([("a\0b", "")]),
        builder().environment([("name", "a\0b")]),
        builder().program("a\0b"),
    ];
    for builder in nul {
        let error = builder.build().unwrap_err();
        assert!(matches!(error, ServicesError::Nul { .. }), "{error}");
    }
    for name in ["", "a=b", "=a="] {
        let error = builder().environment([(name, "")]).build().unwrap_err();
        assert!(
            matches!(error, ServicesError::VariableName { .. }),
            "{error}"
        );
    }
    let error = builder().allow_net("a b").build().unwrap_err();
    assert!(matches!(error, ServicesError::Host { .. }), "{error}");
    let folder = TempFolder::new();
    let missing = [
        builder().allow_read(folder.path("missing")),
        builder().allow_write(folder.path("missing")),
        builder().allow_read(folder.file("file", "")),
    ];
    for builder in missing {
        let error = builder.build().unwrap_err();
        assert!(matches!(error, ServicesError::Folder { .. }), "{error}");
    }
}

#[test]
fn the_first_exit_counts() {
    let calls = Arc::new((AtomicU32::new(0), AtomicI32::new(0)));
    let seen = Arc::clone(&calls);
    let services = build(Services::builder().on_exit(move |status, _| {
        seen.0.fetch_add(1, Ordering::SeqCst);
        seen.1.store(status, Ordering::SeqCst);
    }));
    assert_eq!(services.exit_status(), None);
    services.exit(3);
    services.exit(4);
    assert_eq!(services.exit_status(), Some(3));
    assert_eq!(calls.0.load(Ordering::SeqCst), 1);
    assert_eq!(calls.1.load(Ordering::SeqCst), 3);
}

#[test]
fn an_exit_needs_no_handler() {
    let services = build(Services::builder());
    services.exit(0);
    assert_eq!(services.exit_status(), Some(0));
}

#[test]
fn the_time_of_day_is_that_of_the_process() {
    let time = system_time();
    // In 2020 or later, and the clock of the process.
    assert!(time > 1_577_836_800_000_000_000);
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as i64;
    assert!((now - time).abs() < 60_000_000_000);
}

#[test]
fn random_bytes_differ() {
    let (mut one, mut two) = ([0; 32], [0; 32]);
    assert_eq!(random(&mut one).unwrap(), 0);
    assert_eq!(random(&mut two).unwrap(), 0);
    assert_ne!(one, [0; 32]);
    assert_ne!(one, two);
    assert_eq!(random(&mut []).unwrap(), 0);
}

#[test]
fn errors_have_texts() {
    let permission = text(|text| error_text(libc::EACCES, text));
    assert_eq!(permission, b"Permission denied");
}
