//! The list of devices.

use pyo3::pyfunction;
use revoff_host::device::KINDS;

/// The names of this machine's devices. Kinds of devices of which there are none, or whose driver is
/// missing, are left out: opening such a device raises the reason.
#[pyfunction]
pub(crate) fn devices() -> Vec<String> {
    KINDS
        .iter()
        .flat_map(|kind| kind.devices().unwrap_or_default())
        .collect()
}
