//! Landlock: access to files, and signals, by the rules of the kernel.

use std::io;
use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope,
};
use rustix::fs::{Mode, OFlags};

use crate::error::{Error, in_step};
use crate::grant::{Access, Entry};

/// The first version that restricts all ways to write to a file (Linux 6.2). Where namespaces restrict
/// them, too, the first version of all (5.13) adds that no file is opened a second time with more rights; the filter
/// then refuses to truncate files by their names.
const COMPLETE: ABI = ABI::V3;
const PARTIAL: ABI = ABI::V1;

/// The versions of the rights and of the scopes that are handled here (Linux 6.10 and 6.12).
const FILES: ABI = ABI::V5;
const SCOPES: ABI = ABI::V6;

/// The restrictions that the kernel enforces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Enforced {
    /// Whether signals reach only processes of the sandbox.
    pub(crate) signals: bool,
    /// Whether files are truncated only where they may be written.
    pub(crate) truncation: bool,
}

/// The reason why a kernel restricts nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unavailable {
    #[error(transparent)]
    Unsupported(#[from] RulesetError),
    #[error("it is not enabled")]
    NotEnabled,
}

/// Restricts this thread, and those that it creates, to these entries. If `is_only`, nothing else does.
/// `Err` in `Ok`: the kernel does not.
///
/// # Errors
/// A failure of a kernel that has the mechanism.
pub(crate) fn restrict(
    entries: &[Entry],
    commands: bool,
    is_only: bool,
) -> Result<Result<Enforced, Unavailable>, Error> {
    let minimum = if is_only { COMPLETE } else { PARTIAL };
    let ruleset = match ruleset(minimum) {
        Ok(ruleset) => ruleset,
        Err(error) => return Ok(Err(error.into())),
    };
    let status = restrict_self(ruleset, entries, commands)?;
    let abi = match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => effective_abi,
        _ => ABI::Unsupported,
    };
    if status.ruleset == RulesetStatus::NotEnforced {
        return Ok(Err(Unavailable::NotEnabled));
    }
    Ok(Ok(Enforced {
        signals: abi >= SCOPES,
        truncation: abi >= COMPLETE,
    }))
}

/// The accesses that need a rule. Versions before the minimum are refused.
fn ruleset(minimum: ABI) -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(minimum))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(FILES))?
        .scope(Scope::from_all(SCOPES))?
        .create()
}

fn restrict_self(
    mut ruleset: RulesetCreated,
    entries: &[Entry],
    commands: bool,
) -> Result<RestrictionStatus, Error> {
    let refused =
        |error: RulesetError| in_step("restrict access to files")(io::Error::other(error));
    for entry in entries {
        let path = &entry.target;
        let step = || format!("allow access to {}", path.display());
        let file = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            .map_err(in_step(step()))?;
        let rights = rights(path, entry.access, commands).map_err(in_step(step()))?;
        ruleset = ruleset
            .add_rule(PathBeneath::new(&file, rights))
            .map_err(refused)?;
        if path.starts_with("/proc/self") {
            // A rule belongs to an inode, which procfs forgets if nothing holds its name.
            std::mem::forget(file);
        }
    }
    Ok(ruleset.restrict_self().map_err(refused)?)
}

/// The rights for a file, or for the files of a folder.
fn rights(path: &Path, access: Access, commands: bool) -> io::Result<BitFlags<AccessFs>> {
    let mut rights = match access {
        Access::Read => AccessFs::from_read(FILES),
        Access::Device | Access::Write => AccessFs::from_all(FILES),
    };
    if !commands {
        rights.remove(AccessFs::Execute);
    }
    if !path.metadata()?.is_dir() {
        rights &= AccessFs::from_file(FILES);
    }
    Ok(rights)
}
