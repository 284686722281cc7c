//! The JSON of `revoff bench --json`. docs/bench-json.md documents the names: a changed meaning or a
//! removed field increments [`SCHEMA`].

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::shape::Shape;

/// Version of these names.
pub(crate) const SCHEMA: u32 = 3;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) schema: u32,
    pub(crate) revoff: String,
    pub(crate) date: String,
    pub(crate) machine: Machine,
    pub(crate) device: Device,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) rounds: u32,
    pub(crate) seconds: f64,
    pub(crate) elapsed_seconds: f64,
    pub(crate) measuring_ns: u64,
    pub(crate) tick_ns: f64,
    pub(crate) floor: Floor,
    pub(crate) calls: Vec<Calls>,
    pub(crate) failed: Vec<Failed>,
    pub(crate) ratios: Ratios,
    pub(crate) native_to_empty: Vec<ToEmpty>,
    pub(crate) native_to_patched: Vec<ToPatched>,
    #[serde(default)]
    pub(crate) native_to_peers: Vec<ToPeer>,
    pub(crate) linked: Option<Linked>,
    pub(crate) waiting: Vec<Quiet>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) model: Option<String>,
    pub(crate) cores: usize,
    pub(crate) arch: String,
    pub(crate) os: String,
    pub(crate) others_percent: Option<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Device {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) arch: String,
    pub(crate) image: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Floor {
    pub(crate) kind: String,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) rate: Rate,
    pub(crate) cores: Option<[usize; 2]>,
}

/// Requests per second, over all rounds.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Rate {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Rate {
    pub(crate) fn of(rounds: &[f64]) -> Self {
        let mut sorted = rounds.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or(0.0);
        Self {
            median: at(sorted.len() / 2),
            min: at(0),
            max: at(sorted.len().saturating_sub(1)),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Calls {
    pub(crate) wire: String,
    pub(crate) waiting: String,
    pub(crate) call: String,
    pub(crate) bytes: u32,
    pub(crate) grid: Shape,
    pub(crate) host_threads: usize,
    pub(crate) rounds: u32,
    pub(crate) requests: u64,
    pub(crate) rate: Rate,
    pub(crate) p50_ns: Option<u64>,
    pub(crate) p99_ns: Option<u64>,
    #[serde(default)]
    pub(crate) floor_p50_ns: Option<u64>,
    pub(crate) rate_to_floor: f64,
    pub(crate) p50_to_floor: Option<f64>,
    pub(crate) groups: Vec<Group>,
    pub(crate) cores: Option<[usize; 2]>,
}

/// The rounds of a figure with about the same floor beside them.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Group {
    pub(crate) floor_p50_ns: u64,
    pub(crate) rounds: u32,
    pub(crate) rate: Rate,
    pub(crate) p50_ns: Option<u64>,
    pub(crate) p50_to_floor: Option<f64>,
}

/// A figure that could not be measured.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Failed {
    pub(crate) what: String,
    pub(crate) error: String,
}

/// Ratios of figures.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ratios {
    pub(crate) native_p50_to_floor: Option<f64>,
    pub(crate) native_tofrom_64_minus_empty_ns: Option<i64>,
    #[serde(default)]
    pub(crate) native_work_10us_p50_ns: Option<u64>,
    pub(crate) largest_grid: Option<Shape>,
    pub(crate) native_to_gcc_slot_rate: Option<f64>,
    pub(crate) native_to_patched_rate: Option<f64>,
    pub(crate) linked_to_unlinked_time: Option<f64>,
}

/// The time of a call on native relative to that of an empty one, with about the same floor.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ToEmpty {
    pub(crate) call: String,
    pub(crate) floor_p50_ns: u64,
    pub(crate) p50: f64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ToPatched {
    pub(crate) grid: Shape,
    pub(crate) rate: f64,
}

/// The figures of native relative to those of another runtime.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ToPeer {
    pub(crate) peer: String,
    pub(crate) call: String,
    pub(crate) grid: Shape,
    pub(crate) rate: f64,
    pub(crate) p50: Option<f64>,
}

/// A kernel that makes no call, in an image with the runtime and in one without.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Linked {
    pub(crate) grid: Shape,
    pub(crate) runs: u32,
    pub(crate) linked_ns: u64,
    pub(crate) unlinked_ns: u64,
    pub(crate) ratio: f64,
    pub(crate) ratio_low: f64,
    pub(crate) ratio_high: f64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Quiet {
    pub(crate) wire: String,
    pub(crate) waiting: String,
    pub(crate) quiet_seconds: f64,
    pub(crate) cpu_percent: Option<f64>,
    pub(crate) pauses: Vec<Pauses>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Pauses {
    pub(crate) pause_seconds: f64,
    pub(crate) calls: u64,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
}

impl Report {
    /// Reads a report that `--json` wrote.
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let named = || format!("{} is no report of `revoff bench --json`", file.display());
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read the report {}", file.display()))?;
        // The version first: the rest depends on it.
        let value: Value = serde_json::from_str(&text).with_context(named)?;
        let schema = value.get("schema").and_then(Value::as_u64);
        let schema = schema.context("it has no schema").with_context(named)?;
        anyhow::ensure!(
            schema == u64::from(SCHEMA),
            "{} has schema {schema}, this command reads schema {SCHEMA}: measure again",
            file.display()
        );
        serde_json::from_value(value).with_context(named)
    }
}
