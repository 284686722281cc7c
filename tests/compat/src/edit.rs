//! Modifies programs that GCC built, so that a plugin must reject them.

use std::env::consts::ARCH;

use crate::Gcc;

/// Replaces bytes by others of the same length, at each occurrence.
///
/// # Errors
/// There is no occurrence: the file has an unknown form.
pub fn put(file: &mut [u8], old: &[u8], new: &[u8]) -> Result<(), String> {
    assert_eq!(old.len(), new.len(), "nothing else may move");
    let places = (0..file.len()).filter(|&at| file[at..].starts_with(old));
    let places: Vec<_> = places.collect();
    for &at in &places {
        file[at..][..new.len()].copy_from_slice(new);
    }
    match places.is_empty() {
        false => Ok(()),
        true => Err(format!("no {:?} to change", String::from_utf8_lossy(old))),
    }
}

/// The call by which a program by GCC 14 or newer registers its image with libgomp, for a version
/// for the host and one for the plugin: `mov $0x30001, %edi`.
#[must_use]
pub const fn registers(host: u8, plugin: u8) -> [u8; 5] {
    [0xbf, plugin, 0, host, 0]
}

/// The reason why a GCC's programs have no [`registers`], of version 3 for the host, if they have
/// none.
#[must_use]
pub fn lacks_registers(gcc: &Gcc) -> Option<String> {
    match (ARCH, gcc.version()) {
        ("x86_64", 14..) => None,
        ("x86_64", version) => Some(format!("GCC {version} has images of another version")),
        _ => Some(format!("no instruction of {ARCH}'s to change")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_is_changed() {
        let mut file = *b"one two one";
        assert_eq!(put(&mut file, b"one", b"six"), Ok(()));
        assert_eq!(&file, b"six two six");
        let error = put(&mut file, b"one", b"six").unwrap_err();
        assert!(error.contains("\"one\""), "{error}");
    }
}
