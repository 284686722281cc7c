//! Resources of this process, as the system counts them.

use std::fs;

use anyhow::Context;
use serde::Serialize;

/// Memory, descriptors and threads.
#[derive(Clone, Copy, Default, Serialize)]
pub(super) struct Usage {
    pub(super) resident_bytes: u64,
    pub(super) descriptors: usize,
    pub(super) threads: usize,
}

impl Usage {
    pub(super) fn now() -> anyhow::Result<Self> {
        let count = |folder: &str| -> anyhow::Result<usize> {
            Ok(fs::read_dir(folder)
                .with_context(|| folder.to_owned())?
                .count())
        };
        let status = fs::read_to_string("/proc/self/status").context("/proc/self/status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        Ok(Self {
            resident_bytes: kib.context("/proc/self/status has no VmRSS")? << 10,
            descriptors: count("/proc/self/fd")?,
            threads: count("/proc/self/task")?,
        })
    }
}
