//! Functions whose declaration is known only at run time: they are called, and reject calls, like those
//! that the macro declares.

mod dynamic;
mod fake;

use std::alloc::Layout;

use dynamic::{Dynamic, Type, read, write};
use fake::{Runtime, host};
use host_fn_test_calls::{
    Colour, Lend, ReadChunk, Saxpy, Stats, Values, lend, ping, read_chunk, values,
};
use revoff_fn::signature::Form;
use revoff_fn::{
    Argument, BadArguments, DynamicArg, Failure, HostFunction, Parameters, Passed, RawArg,
};
use shared_abi::map_kind::MapKind;
use shared_abi::status::Status;

fn ty<T>(name: &'static str) -> Type {
    (name, Layout::new::<T>())
}

fn lend_of<F>(run: F) -> Dynamic<F> {
    Dynamic {
        name: "lend",
        parameters: vec![
            (Form::To, ty::<u32>("u32")),
            (Form::ToSlice, ty::<u16>("u16")),
            (Form::ToFrom, ty::<u64>("u64")),
            (Form::ToFromSlice, ty::<u32>("u32")),
            (Form::From, ty::<i128>("i128")),
            (Form::FromSlice, ty::<Stats>("Stats")),
        ],
        returns: ty::<u128>("u128"),
        run,
    }
}

fn values_of<F>(run: F) -> Dynamic<F> {
    let value = |ty| (Form::Value, ty);
    Dynamic {
        name: "values",
        parameters: vec![
            value(ty::<i8>("i8")),
            value(ty::<f64>("f64")),
            value(ty::<Colour>("Colour")),
            value(ty::<Stats>("Stats")),
            value(ty::<u128>("u128")),
            value(ty::<[u8; 0]>("[u8;0]")),
        ],
        returns: ty::<Stats>("Stats"),
        run,
    }
}

fn read_chunk_of<F>(run: F) -> Dynamic<F> {
    Dynamic {
        name: "read_chunk",
        parameters: vec![
            (Form::Value, ty::<u32>("u32")),
            (Form::Value, ty::<u64>("u64")),
            (Form::FromSlice, ty::<u8>("u8")),
        ],
        returns: ty::<u32>("u32"),
        run,
    }
}

fn nothing(_: &mut [DynamicArg<'_>]) -> Result<Vec<u8>, &'static str> {
    Err("must not run")
}

#[test]
fn the_hashes_are_those_of_the_macro() {
    assert_eq!(lend_of(nothing).signature(), Lend::SIGNATURE);
    assert_eq!(values_of(nothing).signature(), Values::SIGNATURE);
    assert_eq!(read_chunk_of(nothing).signature(), ReadChunk::SIGNATURE);
    let info = Parameters::new()
        .parameter_of(Form::Value, Layout::new::<f32>())
        .parameter_of(Form::ToSlice, Layout::new::<f32>())
        .parameter_of(Form::ToFromSlice, Layout::new::<f32>())
        .info(Saxpy::SIGNATURE);
    assert_eq!(info, <Saxpy as revoff_fn::Kernel>::INFO);
}

#[test]
fn every_form() {
    host(
        Runtime::Reports,
        lend_of(|args: &mut [DynamicArg<'_>]| {
            assert_eq!(read(&args[0]), 1_u32.to_ne_bytes());
            assert_eq!(read(&args[1]), [2, 0, 3, 0]);
            assert_eq!(write(&mut args[2]), 4_u64.to_ne_bytes());
            write(&mut args[2])[0] += 1;
            assert_eq!(write(&mut args[3]).len(), 12);
            write(&mut args[3])[8] = 9;
            assert_eq!(write(&mut args[4]), [0; 16]);
            write(&mut args[4])[15] = 0x80;
            write(&mut args[5])[24] = 9;
            Ok(10_u128.to_ne_bytes().into())
        }),
    );
    let (mut tofrom, mut tofrom_slice, mut from) = (4, [5, 6, 7], 1);
    let mut from_slice = [Stats::default(); 2];
    let back = lend(
        &1,
        &[2, 3],
        &mut tofrom,
        &mut tofrom_slice,
        &mut from,
        &mut from_slice,
    );
    assert_eq!(back, Ok(10));
    assert_eq!((tofrom, tofrom_slice, from), (5, [5, 6, 9], i128::MIN));
    assert_eq!(from_slice[1].bytes, 9);
    assert_ne!(fake::word(), 0);
    assert_eq!(fake::seen().len(), 7);
}

#[test]
fn values_of_every_size() {
    host(
        Runtime::Reports,
        values_of(|args: &mut [DynamicArg<'_>]| {
            assert_eq!(read(&args[0]), [255]);
            assert_eq!(read(&args[1]), (-0.5_f64).to_ne_bytes());
            assert_eq!(read(&args[2]), [1, 2, 255]);
            assert_eq!(read(&args[3])[8..], 3_u64.to_ne_bytes());
            assert_eq!(read(&args[4]), (u128::MAX - 1).to_ne_bytes());
            assert_eq!(read(&args[5]), []);
            Ok([1_u64.to_ne_bytes(), 2_u64.to_ne_bytes()].concat())
        }),
    );
    let stats = Stats { calls: 1, bytes: 3 };
    let back = values(-1, -0.5, Colour([1, 2, 255]), stats, u128::MAX - 1, []);
    assert_eq!(back, Ok(Stats { calls: 1, bytes: 2 }));
}

#[test]
fn an_error_leaves_no_result() {
    let failing = |_: &mut [DynamicArg<'_>]| Err("no such file");
    host(Runtime::Reports, read_chunk_of(failing));
    let error = read_chunk(1, 2, &mut [0; 3]).unwrap_err();
    assert_eq!(error.status(), Status::FUNCTION_FAILED);
    assert_eq!(fake::message(), "no such file");
    assert_eq!(fake::failure(), Some(Failure::Function));
}

/// The device calls a function that has fewer parameters.
#[test]
fn other_arguments_are_rejected() {
    host(Runtime::Reports, read_chunk_of(nothing));
    ping().unwrap_err();
    let bad = BadArguments::Count {
        expected: 4,
        found: 1,
    };
    assert_eq!(fake::failure(), Some(Failure::BadArguments(bad)));

    #[repr(align(16))]
    struct Memory([u8; 64]);
    let mut memory = Memory([1; 64]);
    let mut at = |offset: usize, size, kind| RawArg {
        ptr: memory.0[offset..].as_mut_ptr(),
        size,
        kind,
    };
    let int = |size| RawArg {
        ptr: std::ptr::null_mut(),
        size,
        kind: MapKind::FIRSTPRIVATE_INT,
    };
    let reply = at(32, 16, MapKind::FROM);
    let from = at(0, 8, MapKind::FROM);
    let rejected: [(Dynamic<_>, Vec<RawArg>, &str); 6] = [
        (
            read_chunk_of(nothing),
            vec![int(8), int(8), from, reply],
            "argument 0 has 8 bytes",
        ),
        (
            read_chunk_of(nothing),
            vec![at(16, 4, MapKind::TO), int(8), from, reply],
            "argument 0 is mapped",
        ),
        (
            read_chunk_of(nothing),
            vec![int(4), int(8), at(0, 8, MapKind::TO), reply],
            "argument 2 is mapped",
        ),
        (
            read_chunk_of(nothing),
            vec![int(4), int(8), at(30, 8, MapKind::FROM), reply],
            "argument 3 overlaps argument 2",
        ),
        (
            read_chunk_of(nothing),
            vec![int(4), int(8), from, at(33, 16, MapKind::FROM)],
            "argument 3 is at",
        ),
        (
            read_chunk_of(nothing),
            vec![int(4), int(8), from, at(32, 24, MapKind::FROM)],
            "argument 3 has 24 bytes",
        ),
    ];
    for (function, args, expected) in rejected {
        // SAFETY: the arguments are parts of `memory`, which is initialised and not used otherwise.
        let failure = unsafe { function.call(&args, &mut String::new()) }.unwrap_err();
        assert!(failure.to_string().contains(expected), "{failure}");
    }
}

/// As calls from C do.
#[test]
fn a_call_may_lack_the_reply_of_a_function_without_a_result() {
    let mut byte = 1_u8;
    let args = [RawArg {
        ptr: &raw mut byte,
        size: 1,
        kind: MapKind::TOFROM,
    }];
    let function = |returns| Dynamic {
        name: "add",
        parameters: vec![(Form::ToFrom, ty::<u8>("u8"))],
        returns,
        run: |args: &mut [DynamicArg<'_>]| {
            write(&mut args[0])[0] += 1;
            Ok(Vec::new())
        },
    };
    let call = |function: &dyn HostFunction| {
        // SAFETY: the argument is `byte`, which is not used otherwise.
        unsafe { function.call(&args, &mut String::new()) }
    };
    assert_eq!(call(&function(ty::<()>("()"))), Ok(()));
    let bad = BadArguments::Count {
        expected: 2,
        found: 1,
    };
    let failure = call(&function(ty::<u8>("u8")));
    assert_eq!(failure, Err(Failure::BadArguments(bad)));
    assert_eq!(byte, 2);
}

#[test]
fn arguments_of_a_launch() {
    let value = Argument::value_of(&7_u32.to_ne_bytes()).unwrap();
    let Passed::Value(value) = value.passed() else {
        panic!("it is memory")
    };
    assert_eq!(value.bytes(), 7_u32.to_ne_bytes());
    assert!(Argument::value_of(&[0; 9]).is_none());

    let mut data = [1_u16, 2, 3];
    let first = data.as_mut_ptr().cast();
    // SAFETY: these are the elements of `data`, which is not used otherwise.
    let argument =
        unsafe { Argument::memory_of(Form::ToFromSlice, first, Layout::new::<u16>(), 3) };
    let Passed::Memory(memory) = argument.passed() else {
        panic!("it is a value")
    };
    assert_eq!(
        (memory.address(), memory.bytes(), memory.align()),
        (first, 6, 2)
    );
    assert_eq!(memory.elements(), Some(3));
}
