//! Closures of another signature than the declared one.

use host_fn_test_calls::ReadChunk;

fn main() {
    ReadChunk::bind(|file: u64, offset, buf| 0);
    ReadChunk::bind(|file, offset| 0);
    ReadChunk::bind(|file, offset, buf| "text");
    ReadChunk::bind(|file, offset, buf: &[u8]| 0);
    ReadChunk::try_bind(|file, offset, buf| 0);
}
