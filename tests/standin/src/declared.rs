//! What an image says of itself, for files that stand for it.

use std::collections::HashMap;

use host_rt::Image;
use host_rt::error::ImageError;
use host_rt::shared_abi::image::{FUNCTION_PREFIX, IMAGE_INFO, KERNEL_PREFIX};

/// Initial bytes of the symbols by which an image says what it is.
///
/// # Errors
/// The image's declarations are not what they should be.
pub fn values(image: &Image) -> Result<HashMap<String, Vec<u8>>, ImageError> {
    let mut values = HashMap::new();
    // One with something else in it is to be found by whoever reads the file.
    if let Ok(Some(info)) = image.info() {
        let mut bytes = info.magic.to_le_bytes().to_vec();
        bytes.extend(info.abi_version.to_le_bytes());
        bytes.extend(info.wires.to_le_bytes());
        values.insert(IMAGE_INFO.to_owned(), bytes);
    }
    for kernel in image.kernels()? {
        if let Some(info) = kernel.info {
            let mut bytes = info.params.to_le_bytes().to_vec();
            bytes.extend(info.bytes.to_le_bytes());
            bytes.extend(info.signature.to_le_bytes());
            values.insert(format!("{KERNEL_PREFIX}{}", kernel.name), bytes);
        }
    }
    for function in image.functions()? {
        let bytes = function.signature.to_le_bytes().to_vec();
        values.insert(format!("{FUNCTION_PREFIX}{}", function.name), bytes);
    }
    Ok(values)
}
