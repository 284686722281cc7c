//! Properties of GCC's images for AMD GPUs that the plugin relies on.

use std::fs;
use std::sync::Arc;

use compat::{AMDGCN, Program, test};
use libtest_mimic::Trial;
use targets::code_object;

use crate::image::{Contents, RELATIVE64, place};
use crate::shared::named;
use crate::{BUILD, Bench, skipped};

/// Programs of `gcc/`, one in each language, and some with other kinds of variables and regions.
const LANGUAGES: &[&str] = &["requests.c", "cxx_objects.cc", "f_maps.f90"];
const OTHERS: &[&str] = &["declare_target.c", "indirect.c", "several_regions.c"];

/// An architecture: the offload compiler's options, and flags of the file: machine, and whether
/// `xnack` and `sramecc` are unsupported, any, off or on.
struct Arch {
    name: &'static str,
    options: &'static str,
    flags: u32,
}

const ARCHES: [Arch; 2] = [
    // The default.
    Arch {
        name: "gfx900",
        options: "",
        flags: 0x22c,
    },
    Arch {
        name: "gfx90a",
        options: AMDGCN.options,
        flags: 0x53f,
    },
];

/// Symbols that every image which calls the host has.
const SYMBOLS: [&str; 4] = [
    ".offload_func_table",
    ".offload_var_table",
    "GOMP_target_ext",
    "__gomp_additional_icvs",
];

/// The tests, with programs of `gcc/`.
pub(crate) fn trials(bench: Option<&Arc<Bench>>, programs: &[Program]) -> Vec<Trial> {
    let [default, other] = const { &ARCHES };
    let all = LANGUAGES.iter().chain(OTHERS);
    let each = all
        .map(|file| (other, *file))
        .chain(LANGUAGES.iter().map(|file| (default, *file)));
    let trial = |(arch, file): (&'static Arch, &'static str)| {
        let name = format!("images::{}::{file}", arch.name);
        let program = named(programs, file);
        let lacks = bench.and_then(|bench| bench.gcc.lacks(program.as_ref().ok()?));
        let cannot = bench.is_none() || skipped(&name, lacks);
        test(bench, name, move |bench| {
            check(bench, arch, program.as_ref().map_err(Clone::clone)?)
        })
        .with_ignored_flag(cannot)
    };
    each.map(trial).collect()
}

fn check(bench: &Bench, arch: &Arch, program: &Program) -> Result<(), String> {
    let folder = match arch.options == AMDGCN.options {
        true => bench.build(program, BUILD)?.to_path_buf(),
        false => bench.gcc.build_with(program, BUILD, arch.options)?,
    };
    let path = bench.gcc.outside(&folder.join(&program.name));
    let bytes = fs::read(&path).map_err(|error| error.to_string())?;
    let image = place(&bytes).ok_or("no code object in the program")?;
    check_image(&bytes[image], arch)
}

/// Checks an image.
fn check_image(image: &[u8], arch: &Arch) -> Result<(), String> {
    let is = |what: &str, found: u64, wanted: u64| match found == wanted {
        true => Ok(()),
        false => Err(format!("{what}: {found:#x}, expected {wanted:#x}")),
    };
    let contents = Contents::read(image)?;
    is("flags", contents.flags.into(), arch.flags.into())?;
    for name in SYMBOLS {
        contents.export(name)?;
    }
    is("ICVs", contents.export("__gomp_additional_icvs")?.1, 16)?;
    // Tables are symbols without a size, at the beginning of their sections.
    let (variables, no_size) = contents.export(".offload_var_table")?;
    is("size of .offload_var_table", no_size, 0)?;
    let (functions, no_size) = contents.export(".offload_func_table")?;
    is("size of .offload_func_table", no_size, 0)?;
    is(".offload_func_table", functions, contents.functions_at)?;
    let pairs = contents.variables.len() as u64 / 16;
    if pairs > 0 {
        is(".offload_var_table", variables, contents.variables_at)?;
    }
    for pair in (0..pairs).map(|n| variables + 16 * n) {
        contents.word(pair).ok_or("a variable without an address")?;
        if contents.word(pair + 8).is_some() {
            return Err("a variable's size is an address".to_owned());
        }
    }
    // Each function of the table is a kernel or one of the host's.
    let words = (0..contents.functions.len() as u64 / 8).map(|n| functions + 8 * n);
    let words = words.map(|at| contents.word(at).ok_or("a function without an address"));
    let words = words.collect::<Result<Vec<_>, _>>()?;
    let of_host = words.iter().filter(|word| contents.reverse.contains(word));
    let of_host = of_host.count();
    is(
        "host regions",
        of_host as u64,
        contents.reverse.len() as u64,
    )?;
    if of_host == 0 {
        return Err("no function of the host's".to_owned());
    }
    // Besides its own kernels it has two for constructors and destructors.
    is(
        "kernels",
        contents.kernels.len() as u64,
        (words.len() - of_host) as u64 + 2,
    )?;
    for name in ["_init_array", "_fini_array"] {
        contents.export(&format!("{name}.kd"))?;
    }
    for (name, arguments) in &contents.kernels {
        // GCC does not declare the 56 bytes that its kernels read.
        is(
            &format!("bytes of arguments of {name}"),
            u64::from(*arguments),
            0,
        )?;
    }
    for (kind, at, _) in &contents.relocations {
        is(
            &format!("relocation of {at:#x}"),
            kind.0.into(),
            RELATIVE64.0.into(),
        )?;
    }
    // Its metadata: a note for each kernel.
    let said = code_object::read(image).map_err(|error| error.to_string())?;
    is(
        "kernels in the metadata",
        said.kernels.len() as u64,
        contents.kernels.len() as u64,
    )?;
    for kernel in &said.kernels {
        let mut known = contents.kernels.iter();
        if !known.any(|(name, _)| *name == kernel.name) {
            return Err(format!("no descriptor of {}", kernel.name));
        }
    }
    Ok(())
}
