//! The emulated GPUs that the environment describes.

use crate::process::{SettingError, value};

/// The architecture of GPUs that are only counted.
const ARCH: &str = "REVOFF_EMU_ARCH";
/// How many GPUs there are, or their architectures.
const DEVICES: &str = "REVOFF_EMU_DEVICES";

/// The GPUs of one vendor.
pub struct Vendor<'a, A> {
    /// The prefix of its architectures.
    pub prefix: &'a str,
    /// Their names, for messages.
    pub names: &'a str,
    /// The most GPUs.
    pub max: usize,
    /// The architecture if the environment names none, of any vendor: without one there are then no GPUs of this
    /// vendor.
    pub default: Option<A>,
}

impl<A: Clone> Vendor<'_, A> {
    /// The architectures of the GPUs, in their order. `arch` reads the name of one.
    ///
    /// # Errors
    /// A variable is invalid.
    pub fn described(&self, arch: impl Fn(&str) -> Option<A>) -> Result<Vec<A>, SettingError> {
        let names = self.names;
        // GPUs of another vendor are that vendor's.
        let read = |text: &str| match is_foreign(text, self.prefix) {
            true => Some(None),
            false => arch(text).map(Some),
        };
        let counted = value(ARCH, self.default.clone(), &format!("one of {names}"), read)?;
        let expected = format!("a number up to {}, or a list of {names}", self.max);
        let read = |text: &str| Devices::read(text, self.max, self.prefix, &arch);
        Ok(match value(DEVICES, Devices::Count(1), &expected, read)? {
            Devices::Count(count) => counted.map_or_else(Vec::new, |arch| vec![arch; count]),
            Devices::List(arches) => arches,
        })
    }
}

/// GPUs that are alike, or the architecture of each.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Devices<A> {
    /// How many there are.
    Count(usize),
    /// Their architectures.
    List(Vec<A>),
}

/// The prefixes of architectures, one for each vendor.
const PREFIXES: [&str; 2] = ["sm_", "gfx"];

/// Whether a name is that of an architecture of another vendor than the one with `prefix`.
fn is_foreign(name: &str, prefix: &str) -> bool {
    let mut others = PREFIXES.iter().filter(|&&other| other != prefix);
    others.any(|other| name.starts_with(other))
}

impl<A> Devices<A> {
    /// Reads a number, or a list with commas of what `arch` reads, of at most `max` GPUs. Architectures of other
    /// vendors than the one with `prefix` are skipped: their driver reads the same list.
    fn read(
        text: &str,
        max: usize,
        prefix: &str,
        arch: impl Fn(&str) -> Option<A>,
    ) -> Option<Self> {
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            let count = text.parse().ok().filter(|&count| count <= max);
            return count.map(Self::Count);
        }
        let ours = text.split(',').filter(|name| !is_foreign(name, prefix));
        let list: Option<Vec<A>> = ours.map(arch).collect();
        list.filter(|list| list.len() <= max).map(Self::List)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_or_a_list_is_read() {
        let arch = |name: &str| name.strip_prefix("gfx").map(str::len);
        let read = |text: &str| Devices::read(text, 3, "gfx", arch);
        assert_eq!(read("0"), Some(Devices::Count(0)));
        assert_eq!(read("3"), Some(Devices::Count(3)));
        assert_eq!(
            read("gfx90a,sm_90,gfx1100"),
            Some(Devices::List(vec![3, 4]))
        );
        assert_eq!(read("sm_90"), Some(Devices::List(vec![])));
        for text in [
            "",
            "4",
            "-1",
            "gfx90a,",
            "gfx90a,90",
            "99999999999999999999",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
