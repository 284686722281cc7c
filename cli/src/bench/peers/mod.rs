//! Other runtimes to compare the wires with: LLVM's RPC, and GCC's libgomp.

mod costs;
mod libgomp;
mod ratios;

pub(super) use costs::count;
pub(super) use ratios::{Estimated, cost_ratios, native_to_peers};

use bench_calls::{LARGE, TOFROM, WORK};
use revoff_host::{Program, Runtime};

use super::host_functions::{touched, work};

/// The name of LLVM's RPC in the figures.
pub(super) const LLVM_RPC: &str = "llvm-rpc";

/// The name of GCC's libgomp in the figures.
pub(super) const LIBGOMP: &str = "libgomp";

/// Serves calls by RPC of the kernels of `program`, each by `handler`.
pub(super) fn serve_rpc(
    runtime: &Runtime,
    program: &Program,
    handler: bench_rpc::Handler,
) -> Result<bench_rpc::Connection, bench_rpc::Error> {
    bench_rpc::Connection::open(runtime, program, bench_calls::rpc::PORTS, handler)
}

/// The host functions of calls by RPC, the same as those of other calls.
pub(super) fn handler(opcode: u32, data: &mut [u8]) {
    match opcode {
        TOFROM | LARGE => touched(data),
        WORK => work(),
        _ => {}
    }
}
