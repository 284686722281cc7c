//! Checks of images that device-rt was linked into.

use std::fs;
use std::path::Path;
use std::process::Command;

use object::{Object, ObjectSymbol};
use revoff_host::Image;
use revoff_host::shared_abi::{ABI_VERSION, gomp, image};

use crate::tools::{Tool, run};

/// Checks the image at `path`: a kernel `kernel` that calls `functions` of the host.
///
/// # Panics
/// The file is not an image.
#[track_caller]
pub fn check_linked(path: &Path, kernel: &str, functions: &[&str]) {
    if let Err(why) = is_linked(path, kernel, functions) {
        panic!("{}: {why}", path.display());
    }
}

/// Whether the image at `path` has everything that the host needs.
///
/// # Errors
/// The missing part.
pub fn is_linked(path: &Path, kernel: &str, functions: &[&str]) -> Result<(), String> {
    let image = Image::open(path).map_err(|error| error.to_string())?;
    let undefined = undefined(image.bytes());
    if !undefined.is_empty() {
        return Err(format!("undefined: {}", undefined.join(", ")));
    }
    let info = image.info().map_err(|error| error.to_string())?;
    if info.map(|info| info.abi_version) != Some(ABI_VERSION) {
        return Err(format!("it says of itself {info:?}"));
    }
    for name in [image::RUNTIME, gomp::REV_OFFLOAD_VAR, gomp::ADDITIONAL_ICVS] {
        if image.symbol(name).is_none() {
            return Err(format!("no {name} that the host finds"));
        }
    }
    let kernels = image.kernels().map_err(|error| error.to_string())?;
    if !kernels.iter().any(|found| found.name == kernel) {
        return Err(format!("no kernel {kernel}, but {kernels:?}"));
    }
    let found = image.functions().map_err(|error| error.to_string())?;
    let mut found: Vec<_> = found.iter().map(|function| &*function.name).collect();
    found.sort_unstable();
    if found != functions {
        return Err(format!("host functions {found:?}"));
    }
    Ok(())
}

/// Undefined symbols of an image: in PTX symbols that are only declared, in an ELF file its
/// undefined symbols.
fn undefined(image: &[u8]) -> Vec<String> {
    let Ok(file) = object::File::parse(image) else {
        return String::from_utf8_lossy(image)
            .lines()
            .filter(|line| line.starts_with(".extern"))
            .map(str::to_owned)
            .collect();
    };
    file.symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| symbol.is_undefined())
        .filter_map(|symbol| symbol.name().ok())
        // The null symbol, a symbol that NVIDIA's linker leaves to the driver, and the driver's own
        // functions.
        .filter(|name| !name.is_empty() && !name.starts_with(".nv."))
        .filter(|name| !["malloc", "free", "vprintf"].contains(name))
        .map(str::to_owned)
        .collect()
}

/// Checks that the kernel `kernel` of the code object at `path` states at least as many registers
/// as its code and its callees use.
///
/// # Errors
/// It states fewer.
///
/// # Panics
/// The tools do not report it.
pub fn check_registers(
    readelf: &Tool,
    objdump: &Tool,
    path: &Path,
    kernel: &str,
) -> Result<(), String> {
    let file = fs::canonicalize(path).expect("the code object is there");
    let ask = |tool: &Tool, flag: &str| {
        let mut command: Command = tool.command();
        run(command.arg(flag).arg(&file))
    };
    let stated: u32 = ask(readelf, "--notes")
        .lines()
        .find_map(|line| {
            line.trim()
                .strip_prefix(".vgpr_count:")?
                .trim()
                .parse()
                .ok()
        })
        .expect("the notes say how many registers the kernel takes");
    let code = ask(objdump, "-d");
    let functions: Vec<_> = code.split("\n\n").collect();
    let of_kernel = functions
        .iter()
        .find(|function| function.contains(&format!("<{kernel}>:")))
        .expect("the kernel has code");
    // A kernel without a call runs only its own code.
    let used = if of_kernel.contains("s_swappc_b64") {
        functions.iter().filter_map(|code| highest(code)).max()
    } else {
        highest(of_kernel)
    };
    let used = used.expect("code that uses registers") + 1;
    if stated < used {
        return Err(format!("{stated} registers stated, {used} used"));
    }
    Ok(())
}

/// The highest vector register in disassembly: `v12`, `v[10:12]`.
fn highest(code: &str) -> Option<u32> {
    code.split([' ', ',', '-', '|'])
        .filter_map(|word| {
            let number = word.trim().strip_prefix('v')?;
            let last = number
                .strip_prefix('[')
                .and_then(|range| range.trim_end_matches(']').split(':').next_back())
                .unwrap_or(number);
            last.parse::<u32>().ok()
        })
        .max()
}
