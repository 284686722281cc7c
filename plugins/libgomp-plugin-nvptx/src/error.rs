//! The errors of images for NVIDIA GPUs.

use std::string::FromUtf8Error;

/// GCC's description of an image is invalid, or does not describe its image.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("PTX text {at} is not UTF-8")]
    NotUtf8 { at: usize, source: FromUtf8Error },
    #[error("{image}: no variable `{variable}` in its PTX")]
    NoVariable { image: String, variable: String },
    #[error("`{symbol}` has {bytes} bytes, expected {count} words")]
    TableSize {
        symbol: &'static str,
        bytes: u64,
        count: usize,
    },
}

impl From<Error> for gomp_plugin::Error {
    fn from(error: Error) -> Self {
        Self::Kind(Box::new(error))
    }
}
