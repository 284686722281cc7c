//! Costs of a call to the host, in calls of the driver and on the bus, with GCC's own plugin and with ours: both
//! run on the emulated driver, which counts. `docs/gcc.md` has the table.

use std::collections::BTreeMap;
use std::path::Path;

use compat::{Program, judge};

use crate::{BUILDS, Bench, EMULATED};

/// The program.
pub(crate) const PROGRAM: &str = "counted_requests";

/// Calls whose number depends on time, because the plugins poll, or on the thread that serves a request.
const VARYING: [&str; 5] = [
    "cuStreamQuery",
    "cuEventQuery",
    "cuEventSynchronize",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
];

/// Calls of the driver that one call to the host adds, by function.
type Calls = BTreeMap<String, u64>;

/// More requests than in the first run, so that a function that is called once does not count.
const MORE: u64 = 10;

/// Which plugin runs the program.
#[derive(Clone, Copy)]
enum Plugin {
    Gccs,
    Ours,
}

impl Bench {
    /// The driver's output at the end of a run with this number of requests.
    fn printed(
        &self,
        program: &Program,
        plugin: Plugin,
        (empty, with_data): (u64, u64),
        variable: &str,
    ) -> Result<String, String> {
        let folder = self.plugin.as_ref().ok_or("no folder with the plugin")?;
        let emulated = folder.join(EMULATED);
        let folders = match plugin {
            Plugin::Gccs => emulated.display().to_string(),
            Plugin::Ours => format!("{}:{}", folder.display(), emulated.display()),
        };
        let run = self.run(program, BUILDS[0], Some(Path::new(&folders)), |command| {
            command
                .env("OMP_TARGET_OFFLOAD", "mandatory")
                .env("REVOFF_DEVICE", "cuda:0")
                .env(variable, "1")
                .env("COUNTED_EMPTY", empty.to_string())
                .env("COUNTED_DATA", with_data.to_string());
        })?;
        judge(program, &run)?;
        Ok(run.stderr)
    }

    /// The driver's calls of a run with this number of requests.
    fn driver_calls(
        &self,
        program: &Program,
        plugin: Plugin,
        requests: (u64, u64),
    ) -> Result<Calls, String> {
        let printed = self.printed(program, plugin, requests, "REVOFF_EMU_CALLS")?;
        let counted = printed.lines().filter_map(|line| {
            let (count, function) = line
                .strip_prefix("emulated GPU: ")?
                .split_once(" calls of ")?;
            Some((function.to_owned(), count.parse().ok()?))
        });
        let counted: Calls = counted.collect();
        match counted.is_empty() {
            true => Err(format!("the driver has counted nothing: {printed}")),
            false => Ok(counted),
        }
    }

    /// A request's transactions that store to mapped memory, and its waits for these.
    fn stores(
        &self,
        program: &Program,
        plugin: Plugin,
        with_data: bool,
    ) -> Result<(String, String), String> {
        let requests = if with_data { (0, MORE) } else { (MORE, 0) };
        let printed = self.printed(program, plugin, requests, "REVOFF_EMU_COSTS")?;
        let of_call = |row: &str| {
            let line = printed.lines().find_map(|line| line.strip_prefix(row));
            let count = line.and_then(|line| line.split_whitespace().next());
            count
                .map(str::to_owned)
                .ok_or_else(|| format!("no {row}: {printed}"))
        };
        Ok((
            of_call("stores to mapped memory, transactions")?,
            of_call("of these, waits for stores to mapped memory")?,
        ))
    }

    /// The calls that each of [`MORE`] further requests adds.
    fn of_request(
        &self,
        program: &Program,
        plugin: Plugin,
        with_data: bool,
    ) -> Result<Calls, String> {
        let requests = |count| if with_data { (1, count) } else { (count, 1) };
        let before = self.driver_calls(program, plugin, requests(1))?;
        let after = self.driver_calls(program, plugin, requests(1 + MORE))?;
        let mut added = Calls::new();
        for (function, count) in after {
            let more = count.saturating_sub(before.get(&function).copied().unwrap_or(0));
            if more > 0 && !VARYING.contains(&&*function) {
                if more % MORE != 0 {
                    return Err(format!("{MORE} requests add {more} calls of {function}"));
                }
                added.insert(function, more / MORE);
            }
        }
        Ok(added)
    }

    /// The table of `docs/gcc.md`.
    pub(crate) fn test_driver_calls(&self, program: &Program) -> Result<(), String> {
        let expected = |calls: &[(&str, u64)]| -> Calls {
            calls
                .iter()
                .map(|&(function, count)| (function.to_owned(), count))
                .collect()
        };
        let rows = [
            (
                Plugin::Gccs,
                false,
                ("6", "1"),
                expected(&[("cuStreamSynchronize", 1)]),
            ),
            (
                Plugin::Gccs,
                true,
                ("6", "1"),
                expected(&[
                    ("cuCtxGetDevice", 5),
                    ("cuMemGetAddressRange_v2", 5),
                    ("cuMemcpyDtoHAsync_v2", 4),
                    ("cuMemcpyHtoDAsync_v2", 1),
                    ("cuStreamSynchronize", 4),
                ]),
            ),
            (Plugin::Ours, false, ("2", "0"), expected(&[])),
            (
                Plugin::Ours,
                true,
                ("5", "1"),
                expected(&[
                    ("cuMemcpyDtoHAsync_v2", 1),
                    ("cuMemcpyHtoDAsync_v2", 1),
                    ("cuStreamSynchronize", 2),
                ]),
            ),
        ];
        let mut wrong = String::new();
        for (plugin, with_data, (stores, waits), calls) in rows {
            let expected = (calls, (stores.to_owned(), waits.to_owned()));
            let found = (
                self.of_request(program, plugin, with_data)?,
                self.stores(program, plugin, with_data)?,
            );
            if found != expected {
                let name = match plugin {
                    Plugin::Gccs => "GCC's plugin",
                    Plugin::Ours => "ours",
                };
                wrong +=
                    &format!("{name}, with data {with_data}: {found:?}, expected {expected:?}\n");
            }
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }
}
