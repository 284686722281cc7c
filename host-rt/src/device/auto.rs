//! The device `auto`: a process's own GPU, where the ranks of an MPI program share a machine.

use std::borrow::Cow;

use super::{DeviceError, Found, KINDS};

/// The name of the device.
pub(super) const AUTO: &str = "auto";

/// Variables of launchers: the number of a process among those that they have started on its machine.
/// Slurm's is last, because a launcher that runs in a Slurm job inherits it.
const LOCAL_RANKS: [&str; 6] = [
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "MV2_COMM_WORLD_LOCAL_RANK",
    "PALS_LOCAL_RANKID",
    "FLUX_TASK_LOCAL_ID",
    "SLURM_LOCALID",
];

/// The device that `name` denotes: for `auto`, the GPU of this process's local rank, counted round
/// the GPUs of the machine; otherwise `name` itself. A process that no launcher has started has local
/// rank 0.
///
/// # Errors
/// There is no GPU, or a launcher's variable is no number.
pub fn resolve(name: &str) -> Result<Cow<'_, str>, DeviceError> {
    if name != AUTO {
        return Ok(Cow::Borrowed(name));
    }
    let rank = local_rank(|name| std::env::var_os(name).map(|v| v.to_string_lossy().into_owned()))?;
    let mut gpus = Vec::new();
    let mut missing = Vec::new();
    for kind in &KINDS {
        if !matches!(kind.found, Found::Numbered(..)) {
            continue;
        }
        match kind.devices() {
            Ok(names) if names.is_empty() => {
                missing.push(format!("{}: none is visible", kind.name))
            }
            Ok(names) => gpus.extend(names),
            // It begins with the kind.
            Err(error) => missing.push(error.to_string()),
        }
    }
    let gpu = choose(rank, gpus).ok_or_else(|| DeviceError::NoGpu {
        missing: missing.join("; "),
    })?;
    tracing::debug!(local_rank = rank, %gpu, "device `auto`");
    Ok(Cow::Owned(gpu))
}

/// The local rank, from the environment that `get` reads.
fn local_rank(get: impl Fn(&str) -> Option<String>) -> Result<u32, DeviceError> {
    let mut set = LOCAL_RANKS.iter().filter_map(|&variable| {
        let value = get(variable).filter(|value| !value.is_empty())?;
        Some((variable, value))
    });
    let Some((variable, value)) = set.next() else {
        return Ok(0);
    };
    value
        .parse()
        .map_err(|_| DeviceError::LocalRank { variable, value })
}

/// The GPU of a local rank.
fn choose(rank: u32, mut gpus: Vec<String>) -> Option<String> {
    let index = (rank as usize).checked_rem(gpus.len())?;
    Some(gpus.swap_remove(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank_of(variables: &[(&str, &str)]) -> Result<u32, DeviceError> {
        local_rank(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn launchers_give_the_local_rank() {
        assert_eq!(rank_of(&[]).unwrap(), 0);
        for variable in LOCAL_RANKS {
            assert_eq!(rank_of(&[(variable, "5")]).unwrap(), 5, "{variable}");
        }
        let in_slurm = [("SLURM_LOCALID", "0"), ("MPI_LOCALRANKID", "3")];
        assert_eq!(rank_of(&in_slurm).unwrap(), 3);
        let empty = [("OMPI_COMM_WORLD_LOCAL_RANK", ""), ("SLURM_LOCALID", "1")];
        assert_eq!(rank_of(&empty).unwrap(), 1);
        let error = rank_of(&[("SLURM_LOCALID", "0,1")]).unwrap_err();
        assert!(
            error.to_string().contains("SLURM_LOCALID=\"0,1\""),
            "{error}"
        );
    }

    #[test]
    fn ranks_go_round_the_gpus() {
        let gpus = || ["cuda:0", "cuda:1", "hsa:0"].map(str::to_owned).to_vec();
        let chosen: Vec<_> = (0..4).filter_map(|rank| choose(rank, gpus())).collect();
        assert_eq!(chosen, ["cuda:0", "cuda:1", "hsa:0", "cuda:0"]);
        assert_eq!(choose(0, Vec::new()), None);
    }
}
