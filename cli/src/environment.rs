//! The environment variables that `revoff devices` lists.

use revoff_host::env;

/// The names of all variables, and their meanings, with the default in parentheses.
pub(crate) fn variables() -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_runtime = env::VARIABLES
        .iter()
        .map(|variable| (variable.name, variable.meaning));
    of_runtime.chain(OTHERS)
}

/// Those that are not the runtime's: the libraries beside it, the plugins, builds and emulated drivers read them.
const OTHERS: [(&str, &str); 21] = [
    (
        "REVOFF_TRACE",
        "file for a timeline of the program; %p becomes the process's number (none)",
    ),
    (
        "REVOFF_METRICS",
        "socket on which revoff top sees what the program does; %p becomes the process's number (none)",
    ),
    (
        "REVOFF_LOG",
        "filter for the libraries' log, such as debug; empty for none (for revoff, only lost output)",
    ),
    (
        "REVOFF_MPI_GPU",
        "auto, 0 or 1: whether MPI's messages may be staged in the memory of GPUs (auto)",
    ),
    (
        "REVOFF_DEVICE",
        "devices for programs by GCC, clang and rustc, a list such as cuda:1,emu:sm_60, or auto (all GPUs)",
    ),
    (
        "REVOFF_DEPEND",
        "device or host: where dependencies of target tasks of programs by clang are resolved (device, if \
         it can)",
    ),
    (
        "REVOFF_SWAP",
        "0: images by GCC keep GCC's GOMP_target_ext, which makes one call at a time (1)",
    ),
    (
        "REVOFF_NOWAIT",
        "sync: programs by GCC wait for target regions with nowait (async)",
    ),
    (
        "LIBOMPTARGET_INFO",
        "reports on launches and copies of programs by clang and rustc, as in LLVM (0)",
    ),
    (
        "LIBOMPTARGET_PROFILE",
        "file for a profile of programs by clang and rustc, as in LLVM (none)",
    ),
    (
        "REVOFF_DEVICE_RUSTC",
        "rustc that builds images for GPUs (searched)",
    ),
    (
        "REVOFF_PTXAS",
        "NVIDIA's assemblers, a list separated by colons (searched)",
    ),
    (
        "REVOFF_IMAGE_BUILD_SKIP",
        "if set, build scripts make no images",
    ),
    (
        "REVOFF_IMAGE_BUILD_DIR",
        "folder in which kernel crates and core are compiled (cargo's target directory)",
    ),
    (
        "REVOFF_CACHE",
        "folder for the standard library for devices and emulated drivers (revoff in XDG_CACHE_HOME)",
    ),
    (
        "REVOFF_EMULATED_DRIVER",
        "folder with the drivers that revoff emulate uses (built in REVOFF_CACHE)",
    ),
    (
        "REVOFF_EMU_ARCH",
        "architecture of the emulated drivers' GPUs (sm_90)",
    ),
    (
        "REVOFF_EMU_DEVICES",
        "number of the emulated drivers' GPUs, or a list such as sm_90,gfx90a (1)",
    ),
    (
        "REVOFF_EMU_COSTS",
        "1: the emulated drivers print what each kernel does on the bus (0)",
    ),
    (
        "REVOFF_EMU_TRACE",
        "block and thread, such as 1.3, whose instructions the emulated drivers print (none)",
    ),
    (
        "REVOFF_EMU_CALLS",
        "1: the emulated drivers print at exit how often each function was called (0)",
    ),
];
