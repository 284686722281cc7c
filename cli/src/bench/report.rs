//! What `revoff bench --json` prints. The names are documented in
//! docs/bench-json.md: a change of meaning, or a field less, grows [`SCHEMA`].

use std::collections::BTreeMap;

use serde::Serialize;

/// Version of these names.
pub(crate) const SCHEMA: u32 = 1;

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) schema: u32,
    pub(crate) revoff: &'static str,
    pub(crate) date: String,
    pub(crate) machine: Machine,
    pub(crate) device: Device,
    pub(crate) environment: BTreeMap<&'static str, String>,
    pub(crate) rounds: u32,
    pub(crate) seconds: f64,
    pub(crate) measuring_ns: u64,
    pub(crate) floor: Floor,
    pub(crate) calls: Vec<Calls>,
    pub(crate) native_to_patched: Vec<Ratio>,
    pub(crate) waiting: Vec<Quiet>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) model: Option<String>,
    pub(crate) cores: usize,
    pub(crate) arch: &'static str,
    pub(crate) os: &'static str,
    pub(crate) others_percent: Option<f64>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Device {
    pub(crate) name: String,
    pub(crate) description: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Floor {
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) rate: Rate,
    pub(crate) cores: Option<[usize; 2]>,
}

/// Times a second, over all rounds.
#[derive(Debug, Serialize)]
pub(crate) struct Rate {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Calls {
    pub(crate) wire: &'static str,
    pub(crate) waiting: &'static str,
    pub(crate) call: &'static str,
    pub(crate) threads: u32,
    pub(crate) requests: u64,
    pub(crate) rate: Rate,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) rate_to_floor: f64,
    pub(crate) p50_to_floor: f64,
    pub(crate) cores: Option<[usize; 2]>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Ratio {
    pub(crate) threads: u32,
    pub(crate) rate: f64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Quiet {
    pub(crate) wire: &'static str,
    pub(crate) waiting: &'static str,
    pub(crate) quiet_seconds: f64,
    pub(crate) cpu_percent: Option<f64>,
    pub(crate) pauses: Vec<Pauses>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Pauses {
    pub(crate) pause_seconds: f64,
    pub(crate) calls: u64,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
}
