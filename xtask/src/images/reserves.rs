//! Unneeded reservations of kernels, which reduce the number of resident blocks.

use anyhow::{Result, bail};
use revoff_build::device::{DeviceImage, Usage};

/// Fails if a kernel of `image` reserves shared memory or a stack of unknown size, although its
/// source needs neither.
pub(crate) fn check(image: &DeviceImage) -> Result<()> {
    for usage in &image.usage {
        if let Some(found) = without_need(usage) {
            let (name, arch) = (&usage.name, image.arch.name);
            bail!("`{name}` for {arch} {found}, which its source does not ask for");
        }
    }
    Ok(())
}

fn without_need(usage: &Usage) -> Option<String> {
    if usage.has_dynamic_stack {
        return Some("has a stack of unknown size".to_owned());
    }
    let bytes = usage.shared;
    (bytes > 0).then(|| format!("reserves {bytes} bytes of shared memory for each block"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reserved_without_need_is_found() {
        let mut usage = Usage {
            stack: 576,
            ..Usage::default()
        };
        assert_eq!(without_need(&usage), None);
        usage.shared = 49152;
        let found = without_need(&usage).unwrap();
        assert_eq!(
            found,
            "reserves 49152 bytes of shared memory for each block"
        );
        usage.has_dynamic_stack = true;
        assert_eq!(without_need(&usage).unwrap(), "has a stack of unknown size");
    }
}
