//! The descriptions of an image, for files that represent it.

use std::collections::HashMap;

use host_rt::Image;
use host_rt::image::ImageError;
use host_rt::shared_abi::image::{FUNCTION_PREFIX, IMAGE_INFO, KERNEL_PREFIX};

/// Initial bytes of the symbols with an image's descriptions.
///
/// # Errors
/// The image's declarations are invalid.
pub fn values(image: &Image) -> Result<HashMap<String, Vec<u8>>, ImageError> {
    let mut values = HashMap::new();
    // The reader of the file must detect an invalid description, so it is left out here.
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
