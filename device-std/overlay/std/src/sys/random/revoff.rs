use crate::sys::pal::{host::std_random, result};

pub fn fill_bytes(bytes: &mut [u8]) {
    if let Err(error) = result(std_random(bytes)) {
        panic!("failed to generate random data: {error}");
    }
}
