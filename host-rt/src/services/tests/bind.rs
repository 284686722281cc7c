//! The functions that are bound for devices.

use std::collections::BTreeSet;
use std::ptr;

use revoff_fn::__private::Reply;
use revoff_fn::RawArg;
use revoff_fn::zerocopy::{FromBytes, Immutable, IntoBytes};
use shared_abi::map_kind::MapKind;
use shared_abi::status::Status;
use std_calls::{ChildStreams, SocketAddress, StartedChild, shutdown, socket_option};

use super::*;
use crate::runtime::{Functions, RuntimeError};

/// The declarations of all functions.
const DECLARATIONS: &str = include_str!("../../../../device-std/calls/src/lib.rs");

fn bound(services: &Arc<Services>) -> Functions {
    let mut functions = Functions::new();
    services.add_to(&mut functions).unwrap();
    functions
}

#[test]
fn all_declared_functions_are_bound() {
    let declared: BTreeSet<_> = DECLARATIONS
        .split("pub fn ")
        .filter_map(|text| text.split_once('('))
        .map(|(name, _)| name)
        .filter(|name| name.starts_with("std_"))
        .collect();
    assert!(declared.len() >= 40, "the declarations are found");
    let functions = bound(&build(Services::builder()));
    let bound: BTreeSet<_> = functions.iter().map(|function| function.name()).collect();
    assert_eq!(bound, declared);
}

#[test]
fn functions_are_added_once() {
    let services = build(Services::builder());
    let mut functions = bound(&services);
    let error = services.add_to(&mut functions).unwrap_err();
    assert!(matches!(error, RuntimeError::TwiceRegistered { .. }));
}

/// A value, as a device passes it.
fn value(value: u64) -> RawArg {
    RawArg {
        ptr: ptr::without_provenance_mut(value as usize),
        size: 0,
        kind: MapKind::FIRSTPRIVATE_INT,
    }
}

fn u32_value(number: u32) -> RawArg {
    RawArg {
        size: 4,
        ..value(number.into())
    }
}

fn u64_value(number: u64) -> RawArg {
    RawArg {
        size: 8,
        ..value(number)
    }
}

fn i64_value(number: i64) -> RawArg {
    RawArg {
        size: 8,
        ..value(number as u64)
    }
}

fn to(bytes: &[u8]) -> RawArg {
    RawArg {
        ptr: bytes.as_ptr().cast_mut(),
        size: bytes.len() as u64,
        kind: MapKind::TO,
    }
}

fn from<T: FromBytes + IntoBytes + Immutable>(value: &mut T) -> RawArg {
    RawArg {
        ptr: ptr::from_mut(value).cast(),
        size: size_of::<T>() as u64,
        kind: MapKind::FROM,
    }
}

/// Calls a function as a serving thread does.
fn call(functions: &Functions, name: &str, args: &[RawArg]) -> i64 {
    let mut reply = Reply::<i64>::pending();
    let last = RawArg {
        ptr: ptr::from_mut(&mut reply).cast(),
        size: size_of_val(&reply) as u64,
        kind: MapKind::FROM,
    };
    let args: Vec<_> = args.iter().copied().chain([last]).collect();
    let function = functions.iter().find(|function| function.name() == name);
    // SAFETY: the arguments describe memory of the caller and the reply, which nothing else uses
    // now. A typed function does not use the list of pointers.
    let called = unsafe { function.unwrap().call(&mut [], &args) };
    assert!(called.is_ok(), "{name}");
    reply.result(Status::DONE).unwrap()
}

/// Functions with several arguments of the same type get them in the declared order.
#[test]
fn arguments_and_replies_are_passed() {
    let folder = TempFolder::new();
    let services = Services::builder()
        .directory(&folder.0)
        .allow_write(&folder.0);
    let functions = bound(&build(services));
    let call = |name, args: &[RawArg]| call(&functions, name, args);

    let options = open::READ | open::WRITE | open::CREATE_NEW;
    let file = call(
        "std_open",
        &[to(b"file"), u32_value(options), u32_value(0o500)],
    );
    assert!(file >= 3, "{file}");
    let file = u32_value(file as u32);
    assert_eq!(call("std_file_write", &[file, to(b"contents")]), 8);
    assert_eq!(call("std_seek", &[file, i64_value(-6), u32_value(2)]), 2);
    let mut buffer = [0u8; 4];
    assert_eq!(call("std_file_read", &[file, from(&mut buffer)]), 4);
    assert_eq!(&buffer, b"nten");
    let mut status = UNKNOWN;
    assert_eq!(
        call(
            "std_status",
            &[to(b"file"), u32_value(1), from(&mut status)]
        ),
        0
    );
    assert_eq!((status.mode, status.size), (0o500, 8));
    let times = [10i64, 20];
    let times = to(times.as_bytes());
    assert_eq!(
        call("std_set_times", &[to(b"file"), u32_value(1), times]),
        0
    );
    assert_eq!(call("std_file_status", &[file, from(&mut status)]), 0);
    assert_eq!((status.accessed, status.modified), (10, 20));
    assert_eq!(call("std_close", &[file]), 0);
    assert_eq!(call("std_close", &[file]), i64::from(-libc::EBADF));

    assert_eq!(call("std_symbolic_link", &[to(b"file"), to(b"link")]), 0);
    assert_eq!(
        fs::read_link(folder.path("link")).unwrap(),
        Path::new("file")
    );
    assert_eq!(call("std_hard_link", &[to(b"file"), to(b"hard")]), 0);
    assert_eq!(call("std_rename", &[to(b"hard"), to(b"renamed")]), 0);
    assert_eq!(call("std_copy", &[to(b"renamed"), to(b"copy")]), 8);
    assert!(folder.path("copy").exists());
}

#[test]
fn sockets_and_children_get_their_arguments() {
    let builder = Services::builder().allow_all_network().allow_commands();
    let functions = bound(&build(builder));
    let call = |name, args: &[RawArg]| call(&functions, name, args);
    let handle = |returned: i64| {
        assert!(returned >= 3, "{returned}");
        u32_value(returned as u32)
    };

    let any = super::sockets::loopback(0);
    let [at, peer, seen] = &mut [SocketAddress::default(); 3];
    let listener = handle(call("std_tcp_listen", &[to(any.as_bytes())]));
    assert_eq!(
        call("std_socket_address", &[listener, u32_value(0), from(at)]),
        0
    );
    assert_ne!(at.port, 0);
    let client = handle(call("std_tcp_connect", &[to(at.as_bytes()), u64_value(0)]));
    let server = handle(call("std_accept", &[listener, from(peer)]));
    assert_eq!(
        call("std_socket_address", &[server, u32_value(1), from(seen)]),
        0
    );
    assert_eq!(peer, seen);
    assert_eq!(call("std_send", &[client, to(b"bytes")]), 5);
    let mut bytes = [0u8; 3];
    for peek in [1, 0] {
        let received = call("std_receive", &[server, u32_value(peek), from(&mut bytes)]);
        assert_eq!((received, &bytes), (3, b"byt"));
    }
    let ttl = u32_value(socket_option::TTL);
    assert_eq!(
        call("std_set_socket_option", &[server, ttl, u64_value(9)]),
        0
    );
    assert_eq!(call("std_socket_option", &[server, ttl]), 9);
    assert_eq!(
        call("std_shutdown", &[client, u32_value(shutdown::WRITE)]),
        0
    );
    let mut rest = [0u8; 8];
    let args = [server, u32_value(0), from(&mut rest), from(seen)];
    assert_eq!(call("std_receive_from", &args), 2);
    assert_eq!(
        call("std_receive", &[server, u32_value(0), from(&mut rest)]),
        0
    );

    let mut started = StartedChild::default();
    let streams = [ChildStreams::NULL, ChildStreams::PIPE, ChildStreams::NULL];
    let args = [
        to(b"/bin/sh"),
        to(b"-c\0pwd; echo $A; exit 3\0"),
        to(b"A=b\0"),
        to(b"/"),
        to(streams.as_bytes()),
        from(&mut started),
    ];
    assert_eq!(call("std_start_child", &args), 0);
    let child = u32_value(started.child);
    assert_eq!(call("std_wait_child", &[child, u32_value(1)]), 3 << 8);
    let output = u32_value(started.stdout);
    assert_eq!(call("std_file_read", &[output, from(&mut rest)]), 4);
    assert_eq!(&rest[..4], b"/\nb\n");
}
