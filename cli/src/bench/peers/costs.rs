//! The cost of the peers' calls on the bus.

use bench_calls::rpc::{RPC, entry};
use revoff_host::bus_cost::ENTRY;
use revoff_host::{Functions, Grid};

use super::{LIBGOMP, LLVM_RPC, handler, libgomp, serve_rpc};
use crate::bench::context::Bench;
use crate::bench::counting::{CALLS, Counted, Counter, KERNEL, THREADS};
use crate::bench::host_functions::{functions, work};
use crate::bench::options::Options;
use crate::output;

/// Counts the selected calls of the peers.
pub(in crate::bench) fn count(bench: &Bench, options: &Options) -> anyhow::Result<Vec<Counted>> {
    let mut all = Vec::new();
    for call in options.calls().into_iter().filter(|call| !call.waits()) {
        for threads in THREADS {
            bench
                .watchdog
                .at(format!("{LLVM_RPC} {}, {threads} threads", call.name));
            let counter = Counter::of(bench, entry(call.what).unwrap_or_default());
            let runtime = counter.count(bench).build()?;
            let program = runtime.load(&bench.image, &Functions::new())?;
            let _connection = serve_rpc(&runtime, &program, slow)?;
            let grid = Grid { teams: 1, threads };
            let kernel = program.kernel(KERNEL)?;
            // SAFETY: the parameters are the kernel's, which accesses no memory of the host; the
            // client is connected until after the launch.
            unsafe { kernel.launch(grid, &[&(call.what | RPC), &CALLS])? }.wait()?;
            all.push(Counted {
                wire: LLVM_RPC,
                call: call.name,
                threads,
                lanes: threads,
                costs: counter.costs()?,
            });
        }
    }
    if options.calls().iter().any(|call| call.name == "empty") {
        match &options.gcc_libgomp {
            Some(path) => all.push(libgomp(bench, path)?),
            None => output::say(
                "no figures of libgomp: pass GCC's libgomp.a for NVIDIA by --gcc-libgomp (see \
                 docs/gcc.md)",
            ),
        }
    }
    Ok(all)
}

/// Like [`handler`], but takes some time, which is not counted: the kernel then polls more than once,
/// by which its polls are told from other reads.
fn slow(opcode: u32, data: &mut [u8]) {
    work();
    handler(opcode, data);
}

/// Counts the empty call of GCC's own function. A thread of OpenMP is a warp.
fn libgomp(bench: &Bench, path: &std::path::Path) -> anyhow::Result<Counted> {
    const WARP: u32 = 32;
    bench.watchdog.at(LIBGOMP);
    let image = libgomp::image(path)?;
    let counter = Counter::of(bench, ENTRY);
    let runtime = counter.count(bench).build()?;
    let program = runtime.load(&image, &functions()?)?;
    let kernel = program.kernel(KERNEL)?;
    let grid = Grid {
        teams: 1,
        threads: WARP,
    };
    // SAFETY: the parameter is the kernel's, which accesses no memory of the host.
    unsafe { kernel.launch(grid, &[&CALLS])? }.wait()?;
    Ok(Counted {
        wire: LIBGOMP,
        call: "empty",
        threads: 1,
        lanes: WARP,
        costs: counter.costs()?,
    })
}
