//! The hash of a declaration: which changes alter it, and its frozen values.

use host_fn_test_calls::{__revoff_fn_read_chunk, Ping, ReadChunk, Report, Stats, Type};
use revoff_fn::signature::{Form, Signature, of_kernel};

#[test]
fn frozen() {
    // If these numbers change, images that were built before no longer match. Both were also
    // computed by another program.
    assert_eq!(ReadChunk::SIGNATURE, 0x3036_1592_c8f5_301b);
    // The macro's own copy of the hash has to give the same number.
    assert_eq!(of_kernel(&["u32", "*", "f64"]), 0xaa12_2db3_2f6c_47c7);
}

#[test]
fn the_macro_hashes_what_is_declared() {
    let expected = Signature::new("read_chunk")
        .parameter::<u32>(Form::Value, "u32")
        .parameter::<u64>(Form::Value, "u64")
        .parameter::<u8>(Form::FromSlice, "u8")
        .returns::<u32>("u32")
        .finish();
    assert_eq!(ReadChunk::SIGNATURE, expected);
    assert_eq!(__revoff_fn_read_chunk.signature, expected);

    let expected = Signature::new("report")
        .parameter::<u32>(Form::Value, "u32")
        .parameter::<[u8; 32]>(Form::To, "[u8;32]")
        .parameter::<Stats>(Form::ToFrom, "Stats")
        .returns::<()>("()")
        .finish();
    assert_eq!(Report::SIGNATURE, expected);

    assert_eq!(
        Ping::SIGNATURE,
        Signature::new("ping").returns::<()>("()").finish()
    );
    let expected = Signature::new("type")
        .parameter::<u8>(Form::Value, "u8")
        .returns::<u8>("u8")
        .finish();
    assert_eq!(Type::SIGNATURE, expected);
}

#[test]
fn everything_that_is_declared_counts() {
    let of = |name, form, type_name| {
        Signature::new(name)
            .parameter::<u32>(form, type_name)
            .returns::<()>("()")
            .finish()
    };
    let declared = of("f", Form::To, "Handle");
    assert_ne!(declared, of("g", Form::To, "Handle"));
    assert_ne!(declared, of("f", Form::To, "Other"));
    let forms = [
        Form::Value,
        Form::To,
        Form::ToSlice,
        Form::ToFrom,
        Form::ToFromSlice,
        Form::From,
        Form::FromSlice,
    ];
    let mut hashes: Vec<u64> = forms.map(|form| of("f", form, "Handle")).into();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), forms.len());

    let two = Signature::new("f")
        .parameter::<u32>(Form::To, "Handle")
        .returns::<u32>("u32");
    assert_ne!(declared, two.finish());
}

/// One side's structure has one more field, or the same bytes with another alignment.
#[test]
fn a_changed_layout_changes_the_hash() {
    fn of<T: revoff_fn::Plain>() -> [u64; 2] {
        [
            Signature::new("f")
                .parameter::<T>(Form::To, "Stats")
                .returns::<()>("()")
                .finish(),
            Signature::new("f").returns::<T>("Stats").finish(),
        ]
    }
    let [parameter, returned] = of::<[u64; 2]>();
    for [other_parameter, other_returned] in [of::<[u64; 3]>(), of::<[u32; 4]>(), of::<u128>()] {
        assert_ne!(parameter, other_parameter);
        assert_ne!(returned, other_returned);
    }
}

/// Two lists whose concatenations are the same text.
#[test]
fn boundaries_count() {
    let of = |name, type_name| Signature::new(name).returns::<()>(type_name).finish();
    assert_ne!(of("ab", "c"), of("a", "bc"));
    assert_ne!(of_kernel(&["u32", "u8"]), of_kernel(&["u8", "u32"]));
    assert_ne!(of_kernel(&["*"]), of_kernel(&["*", "*"]));
}
