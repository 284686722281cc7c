//! Environment variables.

use host_rt::device::KINDS;

use crate::libgomp;

/// What is read of the environment, beside what [`host_rt::env`] reads.
pub(crate) const DEVICE: &str = "REVOFF_DEVICE";

/// Whether images get device-rt's `GOMP_target_ext` when they are loaded.
const SWAP: &str = "REVOFF_SWAP";

/// Bytes of shared memory that GCC's device code has for `omp_low_lat_mem_alloc`.
const LOWLAT_POOL: &str = "GOMP_NVPTX_LOWLAT_POOL";

/// As libgomp has it.
const DEFAULT_LOWLAT_POOL: u32 = 8 << 10;

/// GCC's device code writes as much whatever it is told.
const LEAST_LOWLAT_POOL: u32 = 16;

/// The devices that libgomp is told of, by name: those that `REVOFF_DEVICE` lists, or all
/// GPUs.
pub(crate) fn devices() -> Vec<String> {
    match std::env::var(DEVICE) {
        Ok(list) if !list.is_empty() => {
            let names = list
                .split(',')
                .map(str::trim)
                .filter(|name| !name.is_empty());
            names
                .flat_map(|name| match suits(name) {
                    Ok(names) => names,
                    Err(reason) => {
                        libgomp::error(&format!("{DEVICE}={list}: {reason}"));
                        Vec::new()
                    }
                })
                .collect()
        }
        _ => match of_kind("cuda") {
            Ok(names) => names,
            Err(reason) => {
                libgomp::debug(&format!("no GPU: {reason}"));
                Vec::new()
            }
        },
    }
}

/// The devices that `name` stands for.
fn suits(name: &str) -> Result<Vec<String>, String> {
    match name {
        "cuda" => of_kind(name),
        _ if name.starts_with("cuda:") => {
            let there = of_kind("cuda")?;
            if there.iter().any(|known| known == name) {
                return Ok(vec![name.to_owned()]);
            }
            Err(format!("no `{name}` here; there are: {}", there.join(", ")))
        }
        _ if name == "emu" || name.starts_with("emu:") => Ok(vec![name.to_owned()]),
        _ => Err(format!(
            "`{name}` runs no images of GCC's for NVIDIA GPUs; `cuda`, `cuda:0`, `emu` and `emu:sm_60` do"
        )),
    }
}

fn of_kind(name: &str) -> Result<Vec<String>, String> {
    let kind = KINDS.iter().find(|kind| kind.name == name);
    let kind = kind.ok_or_else(|| format!("no devices of kind `{name}`"))?;
    kind.devices().map_err(|error| error.to_string())
}

/// Bytes of dynamic shared memory of each launch.
pub(crate) fn lowlat_pool() -> u32 {
    let asked = match std::env::var(LOWLAT_POOL) {
        Ok(text) if !text.is_empty() => text.trim().parse().unwrap_or_else(|_| {
            libgomp::error(&format!(
                "{LOWLAT_POOL}={text}: expected a number of bytes; {DEFAULT_LOWLAT_POOL} it is"
            ));
            DEFAULT_LOWLAT_POOL
        }),
        _ => DEFAULT_LOWLAT_POOL,
    };
    asked.max(LEAST_LOWLAT_POOL)
}

/// Whether images get device-rt's `GOMP_target_ext` when they are loaded: unless somebody
/// says 0.
pub(crate) fn swaps() -> bool {
    match std::env::var(SWAP).as_deref() {
        Err(_) | Ok("" | "1") => true,
        Ok("0") => false,
        Ok(text) => {
            libgomp::error(&format!("{SWAP}={text}: expected 0 or 1; 1 it is"));
            true
        }
    }
}
