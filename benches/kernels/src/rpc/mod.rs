//! The benchmark's calls by RPC, for comparison: our implementation of the protocol by which the
//! libc of LLVM calls the host of a GPU ([`bench_calls::rpc`]).

mod locks;
mod port;
mod verify;

use bench_calls::rpc::{Client, PACKET, SUCCESS};
use bench_calls::{EMPTY, LARGE, TOFROM, TYPED, WORK};
use revoff_device::host_written::HostWritten;

use port::Port;

pub use verify::verify_rpc;

/// The memory of the ports.
#[unsafe(no_mangle)]
static bench_rpc_client: HostWritten<Client> = HostWritten::new(Client::UNSET);

/// Makes the call `OPCODE` by RPC, and returns its status.
///
/// # Safety
/// The host has written the client, and serves its memory.
#[inline(always)]
unsafe fn with_status<const OPCODE: u32>() -> u64 {
    let mut status = SUCCESS;
    // SAFETY: the host has written the client. The lanes that open the port together stay together
    // until it is closed: nothing below depends on the lane.
    let mut port = unsafe { Port::open(bench_rpc_client.get(), OPCODE) };
    port.send(|_| ());
    port.receive(|packet| status = packet.load());
    port.close();
    status
}

// A function for each call, whose executions can be counted. The opcode is a constant of each, so
// that lanes which make different calls do not open a port together.

/// Makes the call [`EMPTY`] by RPC.
///
/// # Safety
/// The host has written the client, and serves its memory.
#[unsafe(no_mangle)]
#[inline(never)]
unsafe extern "C" fn bench_rpc_empty() {
    // SAFETY: as in `with_status`.
    let mut port = unsafe { Port::open(bench_rpc_client.get(), EMPTY) };
    port.send(|_| ());
    port.receive(|_| ());
    port.close();
}

/// Makes the call [`TYPED`] by RPC, and returns its status.
///
/// # Safety
/// The host has written the client, and serves its memory.
#[unsafe(no_mangle)]
#[inline(never)]
unsafe extern "C" fn bench_rpc_typed() -> u64 {
    // SAFETY: the caller's promise.
    unsafe { with_status::<TYPED>() }
}

/// Makes the call [`WORK`] by RPC, and returns its status.
///
/// # Safety
/// The host has written the client, and serves its memory.
#[unsafe(no_mangle)]
#[inline(never)]
unsafe extern "C" fn bench_rpc_work() -> u64 {
    // SAFETY: the caller's promise.
    unsafe { with_status::<WORK>() }
}

/// Makes the call [`TOFROM`] by RPC: a packet each way, without a status.
///
/// # Safety
/// The host has written the client, and serves its memory.
#[unsafe(no_mangle)]
#[inline(never)]
unsafe extern "C" fn bench_rpc_tofrom(data: &mut [u8; PACKET]) {
    // SAFETY: as in `with_status`.
    let mut port = unsafe { Port::open(bench_rpc_client.get(), TOFROM) };
    port.send(|packet| packet.write(0, data, 0, PACKET));
    port.receive(|packet| packet.read(0, data, 0..PACKET));
    port.close();
}

/// Makes the call [`LARGE`] by RPC: several packets each way, without a status.
///
/// # Safety
/// The host has written the client, and serves its memory.
#[unsafe(no_mangle)]
#[inline(never)]
unsafe extern "C" fn bench_rpc_large(data: &mut [u8; 4096]) {
    // SAFETY: as in `with_status`; the votes in both loops have the same result in all lanes.
    let mut port = unsafe { Port::open(bench_rpc_client.get(), LARGE) };
    port.send_bytes(data);
    port.receive_bytes(data);
    port.close();
}

/// Makes the call `opcode`, with the data that it transfers; `false` if it was not served.
///
/// # Safety
/// The host has written the client, and serves its memory.
pub(crate) unsafe fn call(opcode: u32, small: &mut [u8; PACKET], large: &mut [u8; 4096]) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        match opcode {
            EMPTY => bench_rpc_empty(),
            TYPED => return bench_rpc_typed() == SUCCESS,
            WORK => return bench_rpc_work() == SUCCESS,
            TOFROM => bench_rpc_tofrom(small),
            LARGE => bench_rpc_large(large),
            _ => return false,
        }
    }
    true
}
