//! SixteenBit programs with known results, for every supported opcode. The results follow from NVIDIA's
//! "Parallel Thread Execution ISA", whose sections the files of `corpus/` name. `harness/mod.rs`
//! documents the format of these files.

mod harness;

use harness::File;

macro_rules! files {
    ($($name:ident),* $(,)?) => {
        /// All files, by name.
        const FILES: &[File] = &[$(File {
            name: concat!(stringify!($name), ".ptx"),
            text: include_str!(concat!("corpus/", stringify!($name), ".ptx")),
        }),*];

        mod answers {
            $(
                #[test]
                fn $name() {
                    let name = concat!(stringify!($name), ".ptx");
                    let file = super::FILES.iter().find(|file| file.name == name).unwrap();
                    super::harness::check(file);
                }
            )*
        }
    };
}

files!(
    asynchronous,
    atomics,
    bits,
    calls,
    cluster,
    compare,
    control,
    converge,
    convert,
    errors,
    faults,
    float,
    half,
    integer,
    linking,
    matrix,
    mbarrier,
    memory,
    special,
    stuck,
    system,
    video,
    warp,
);

#[test]
fn every_opcode_is_there() {
    let missing = harness::coverage::missing(FILES);
    assert!(missing.is_empty(), "in no file of the corpus: {missing:?}");
}
