//! The constants of `revoff_mpi.h` are those of `mpi-calls` and `revoff-fn`.

use std::collections::BTreeMap;

use mpi_calls::{ANY, Datatype, Operation};
use revoff_fn::__private::Reply;

const HEADER: &str = include_str!("../../../mpi/include/revoff_mpi.h");

/// The constants that the header defines, without their prefix.
fn defined() -> BTreeMap<&'static str, u64> {
    HEADER
        .lines()
        .filter_map(|line| line.strip_prefix("#define REVOFF_MPI_"))
        // The guard has no value.
        .filter_map(|constant| constant.split_once(' '))
        .map(|(name, value)| {
            let number = match value.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16),
                None if value == "UINT32_MAX" => Ok(u32::MAX.into()),
                None => value.parse(),
            };
            (name, number.expect(name))
        })
        .collect()
}

#[test]
fn the_header_has_the_same_constants() {
    // SAFETY: both types have 16 bytes and no padding.
    let [_, done] = unsafe { std::mem::transmute::<Reply<i64>, [u64; 2]>(Reply::done(0)) };
    let datatypes = Datatype::ALL.iter().map(|&(name, value)| (name, value.0));
    let operations = Operation::ALL.iter().map(|&(name, value)| (name, value.0));
    let mut expected: BTreeMap<_, _> = datatypes
        .chain(operations)
        .chain([("ANY", ANY)])
        .map(|(name, value)| (name, u64::from(value)))
        .collect();
    expected.insert("DONE", done);
    assert_eq!(defined(), expected);
}
