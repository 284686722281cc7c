//! Lists of dependences.

use revoff_host::task::{Access, merged};

use crate::abi::libomp::{ALL_MEMORY, Dependence, IN, IN_OUT_SET, MUTEX_IN_OUT_SET};

/// A task's dependences.
#[derive(Default)]
pub(super) struct Depends {
    /// Each location once.
    pub(super) accesses: Vec<(usize, Access)>,
    /// Whether it depends on all earlier siblings, and all later ones on it: `omp_all_memory`.
    pub(super) on_all: bool,
    /// Mutually exclusive ones, which libomp handles too.
    pub(super) exclusive: Vec<Dependence>,
}

/// Whether it is on all memory, in either of the forms of compilers.
fn is_on_all(one: &Dependence) -> bool {
    one.address == -1 || one.address == 0 && one.flags == ALL_MEMORY
}

impl Depends {
    /// The dependences of two lists together.
    pub(super) fn new(lists: [&[Dependence]; 2]) -> Self {
        let mut depends = Self::default();
        for &one in lists.into_iter().flatten() {
            if is_on_all(&one) {
                depends.on_all = true;
                continue;
            }
            let access = match one.flags {
                IN => Access::In,
                MUTEX_IN_OUT_SET => {
                    depends.exclusive.push(one);
                    Access::MutexInOutSet
                }
                IN_OUT_SET => Access::InOutSet,
                _ => Access::InOut,
            };
            // An omitted one has no address.
            if one.address != 0 {
                depends.accesses.push((one.address as usize, access));
            }
        }
        merged(&mut depends.accesses);
        depends
    }

    /// The same for a wait, which excludes no task.
    pub(super) fn of_a_wait(mut self) -> Self {
        for (_, access) in &mut self.accesses {
            if *access == Access::MutexInOutSet {
                *access = Access::InOut;
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(address: i64, flags: u8) -> Dependence {
        Dependence {
            address,
            bytes: 1,
            flags,
        }
    }

    #[test]
    fn flags_of_compilers() {
        let first = [on(8, 1), on(16, 3), on(24, 4), on(0, 3)];
        let depends = Depends::new([&first, &[on(32, 8), on(8, 2)]]);
        let expected = [
            (8, Access::InOut),
            (16, Access::InOut),
            (24, Access::MutexInOutSet),
            (32, Access::InOutSet),
        ];
        assert_eq!(depends.accesses, expected);
        assert_eq!(depends.exclusive.len(), 1);
        assert!(!depends.on_all);
        assert_eq!(depends.of_a_wait().accesses[2], (24, Access::InOut));
    }

    #[test]
    fn all_memory_in_both_forms() {
        for (address, flags) in [(0, 0x80), (-1, 1), (-1, 3)] {
            let depends = Depends::new([&[on(8, 2), on(address, flags)], &[]]);
            assert!(depends.on_all, "{address}, {flags}");
            assert_eq!(depends.accesses, [(8, Access::InOut)]);
        }
    }
}
