//! The floor of `revoff bench` is a floor: its kernel hands words over by loads and
//! stores without order, and does nothing else that others see.

use std::collections::BTreeSet;

use codegen::listing::{Function, find};
use codegen::shared::shared;
use codegen::workbench::Workbench;
use targets::arch::{Arch, Target};

pub(crate) const KERNELS: &str = "benches/kernels";

const WORDS: [&str; 2] = ["ld.relaxed.sys.global.u32", "st.relaxed.sys.global.u32"];

pub(crate) fn words_alone(bench: &Workbench, arch: &'static Arch) -> Result<(), String> {
    let built = bench.built(KERNELS, arch)?;
    let kernel = |name: &str| {
        let found = find(&built.functions, name);
        found.ok_or_else(|| format!("{KERNELS} has no kernel {name}"))
    };
    // `ping_time` is the same loop with an array beside it, whose end is checked.
    let found = operations(kernel("ping_count")?);
    if found != WORDS.map(str::to_owned).into() {
        return Err(format!(
            "the floor does {found:?}, and may do {WORDS:?} alone"
        ));
    }
    // A kernel that calls does more, or this looks at nothing.
    if operations(kernel("count")?).is_subset(&WORDS.map(str::to_owned).into()) {
        return Err("nothing of the calls that `count` makes is seen".to_owned());
    }
    Ok(())
}

fn operations(function: &Function) -> BTreeSet<String> {
    let all = shared(Target::Nvptx, function);
    all.into_iter().map(|(_, what)| what).collect()
}
