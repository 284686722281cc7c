//! Round trips and requests a second of one kind of call.

use std::time::Duration;

use bench_calls::{EMPTY, TOFROM, TYPED};
use host_rt::shared_abi::wire::WireKind;

use super::latency::Latency;
use super::report::{Calls, Floor, Ratio};
use super::session::{Session, Setup};
use super::{ADAPTIVE, Options, PATCHED, rates, waiting_name};

/// A call of a function that takes nothing and does nothing, as OpenMP's `target
/// device(ancestor:1)` without clauses makes it.
pub(crate) const EMPTY_CALL: &str = "empty";

/// The same by way of `host-fn`, which maps a result to tell whether the call was
/// served.
pub(crate) const TYPED_CALL: &str = "typed";

/// A call with 64 bytes of the device thread's stack, there and back.
pub(crate) const TOFROM_CALL: &str = "tofrom-64";

/// One kind of call, and what was measured of it so far.
pub(crate) struct Case {
    setup: Setup,
    call: &'static str,
    threads: u32,
    cores: Option<[usize; 2]>,
    requests: u64,
    rates: Vec<f64>,
    latency: Latency,
    pinned: bool,
}

impl Case {
    pub(crate) fn new(
        options: &Options,
        setup: Setup,
        call: &'static str,
        threads: u32,
    ) -> anyhow::Result<Self> {
        // More threads share the cores as the system sees fit.
        let cores = options.cores().filter(|_| threads == 1);
        Ok(Self {
            setup,
            call,
            threads,
            cores,
            requests: 0,
            rates: Vec::new(),
            latency: Latency::new()?,
            pinned: true,
        })
    }

    /// Measures once more, in a runtime of its own.
    pub(crate) fn round(&mut self, options: &Options) -> anyhow::Result<()> {
        let what = match self.call {
            EMPTY_CALL => EMPTY,
            TYPED_CALL => TYPED,
            _ => TOFROM,
        };
        let mut session = Session::open(&options.device, self.setup, self.threads, self.cores)?;
        let (requests, seconds) = enough(options, "counted", |time| {
            let counted = session.count(what, time)?;
            Ok((counted.0, counted))
        })?;
        self.requests += requests;
        self.rates.push(requests as f64 / seconds);
        let times = enough(options, "timed", |time| {
            let times = session.time(what, time)?;
            Ok((times.len(), times))
        })?;
        self.latency.merge(&times)?;
        self.pinned &= session.pinned();
        Ok(())
    }

    /// What was measured.
    pub(crate) fn figures(&self, floor: &Floor) -> Calls {
        let rate = rates(&self.rates);
        let p50_ns = self.latency.percentile(50.0);
        Calls {
            wire: self.setup.wire.name().unwrap_or_default(),
            waiting: waiting_name(self.setup.waiting),
            call: self.call,
            threads: self.threads,
            requests: self.requests,
            rate_to_floor: rate.median / floor.rate.median,
            p50_to_floor: p50_ns as f64 / floor.p50_ns as f64,
            rate,
            p50_ns,
            p99_ns: self.latency.percentile(99.0),
            cores: self.cores.filter(|_| self.pinned),
        }
    }
}

/// Calls that a figure is made from at least.
const ENOUGH: u64 = 100;

/// Measures for as long as was asked for; where others keep the machine too busy
/// for [`ENOUGH`] calls, again and longer.
fn enough<T>(
    options: &Options,
    what: &str,
    mut measure: impl FnMut(Duration) -> anyhow::Result<(u64, T)>,
) -> anyhow::Result<T> {
    let mut time = options.time();
    for _ in 0..6 {
        let (calls, measured) = measure(time)?;
        if calls >= ENOUGH {
            return Ok(measured);
        }
        time *= 2;
    }
    anyhow::bail!(
        "fewer than {ENOUGH} calls could be {what} within {time:?}: other programs keep the \
         machine busy"
    )
}

/// How many times the requests that gcc-ring serves as patched, native serves.
pub(crate) fn native_to_patched(calls: &[Calls]) -> Vec<Ratio> {
    let empty = |wire: WireKind, waiting| {
        calls.iter().filter(move |calls| {
            calls.call == EMPTY_CALL
                && Some(calls.wire) == wire.name()
                && calls.waiting == waiting_name(waiting)
        })
    };
    empty(WireKind::NATIVE, ADAPTIVE)
        .flat_map(|native| {
            empty(WireKind::GCC_RING, PATCHED)
                .filter(|patched| patched.threads == native.threads)
                .map(|patched| Ratio {
                    threads: native.threads,
                    rate: native.rate.median / patched.rate.median,
                })
        })
        .collect()
}
