//! The host side of the benchmark's calls by RPC.
//!
//! LLVM's libc calls the host of a GPU by a protocol of ports ([`bench_calls::rpc`]). This is our
//! implementation of the server, so that `revoff bench` can compare the wires of this project with
//! that protocol. The client is in the kernels of the benchmark (`benches/kernels/src/rpc`).
//!
//! As in LLVM's offload runtime, one thread serves all ports. It looks for a request from the first
//! port on, serves one call, and begins again. Unlike LLVM's thread, which sleeps 250 us after 25 us
//! without a request, it never sleeps: it polls, and leaves its core to other threads in between.
//!
//! | module | job |
//! |---|---|
//! | `connection` | the memory, the variable of the image, and the thread of the server |
//! | `server` | looks for requests, and serves them |
//! | `port` | receives and sends packets |

mod connection;
mod error;
mod port;
mod server;

pub use connection::Connection;
pub use error::Error;

/// The function of the host that a call runs, with the call's opcode and data.
pub type Handler = fn(opcode: u32, data: &mut [u8]);
