//! Errors of the server.

use std::io;

use revoff_host::RuntimeError;
use revoff_host::device::DeviceError;
use revoff_host::targets::DeviceArch;

/// The reason why calls by RPC cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The image has no client.
    #[error(
        "{image} makes no calls by RPC: it lacks the variable {}",
        bench_calls::rpc::CLIENT
    )]
    NoClient {
        /// The image.
        image: String,
    },
    /// The number of lanes of a warp is unknown.
    #[error("calls by RPC are served on `host` and NVIDIA GPUs only, not on {0}")]
    Architecture(DeviceArch),
    /// A request has a length that no call has.
    #[error("port {port}, lane {lane}: a transfer of {bytes} bytes, at most {most} are supported")]
    TooLong {
        /// The port.
        port: u32,
        /// The lane of the warp.
        lane: u32,
        /// The length.
        bytes: u64,
        /// The longest.
        most: usize,
    },
    /// The runtime reported an error.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The device reported an error.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The thread of the server could not be started.
    #[error("cannot start the thread of the RPC server")]
    Thread(#[from] io::Error),
}
