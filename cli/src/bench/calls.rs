//! Round trips and requests a second of one kind of call.

use std::time::Duration;

use anyhow::anyhow;

use super::context::Bench;
use super::floor::FloorCase;
use super::groups::{self, Sample};
use super::latency::Latency;
use super::plan::Item;
use super::report::{Calls, Failed, Floor, Rate};
use super::sample_size::{ENOUGH, enough};
use super::session::{Session, TIMED, Use};
use super::shape::Shape;

/// The floor beside a figure is measured for this part of the figure's time.
const FLOOR_PART: u32 = 10;

/// One kind of call, and its measurements so far.
pub(crate) struct Case {
    item: Item,
    floor: FloorCase,
    samples: Vec<Sample>,
    cores: Option<[usize; 2]>,
    requests: u64,
    rates: Vec<f64>,
    latency: Latency,
    pinned: bool,
    /// The reason why it could not be measured.
    pub(crate) failure: Option<anyhow::Error>,
}

impl Case {
    pub(crate) fn new(bench: &Bench, item: Item, floor: FloorCase) -> anyhow::Result<Self> {
        // The system distributes more threads over the cores.
        let cores = bench.cores.filter(|_| item.grid == Shape::ONE);
        Ok(Self {
            item,
            floor,
            samples: Vec::new(),
            cores,
            requests: 0,
            rates: Vec::new(),
            latency: Latency::new()?,
            pinned: true,
            failure: None,
        })
    }

    /// Measures once more, unless it could not be measured before.
    pub(crate) fn round(&mut self, bench: &Bench) {
        if self.failure.is_none() {
            self.failure = self.measure(bench).err();
        }
    }

    /// Records that there is no time left to measure it.
    pub(crate) fn skip(&mut self, limit: Duration) {
        if self.failure.is_none() && self.rates.is_empty() {
            let seconds = limit.as_secs();
            self.failure = Some(anyhow!("the {seconds} s (--limit) were over before"));
        }
    }

    /// Measures once more, in a runtime of its own.
    fn measure(&mut self, bench: &Bench) -> anyhow::Result<()> {
        bench.watchdog.at(self.item.to_string());
        let mut session = Session::open(
            bench,
            Use {
                setup: self.item.setup,
                grid: self.item.grid,
                host_threads: Some(self.item.host_threads),
                cores: self.cores,
            },
        )?;
        // In the same state of the machine; without it, the figure has none.
        let mut floor = || self.floor.round(bench, bench.time / FLOOR_PART).ok();
        let before = floor();
        let what = self.item.call.what;
        let (requests, seconds) = enough(bench.time, "counted", |time| {
            let counted = session.count(what, time)?;
            Ok((counted.0, counted))
        })?;
        self.requests += requests;
        let rate = requests as f64 / seconds;
        self.rates.push(rate);
        let mut latency = Latency::new()?;
        // Not all threads of a large grid are timed. If those make hardly any calls, their
        // times are meaningless.
        let threads = self.item.grid.device_threads();
        if threads <= TIMED || requests * TIMED / threads >= ENOUGH {
            latency = enough(bench.time, "timed", |time| {
                let (times, _) = session.time(what, time)?;
                Ok((times.len(), times))
            })?;
            self.latency.merge(&latency)?;
        }
        let floors = [before, floor()];
        self.samples.extend(Sample::new(floors, rate, latency));
        self.pinned &= session.pinned();
        Ok(())
    }

    /// The figures, unless they could not be measured.
    pub(crate) fn figures(&self, floor: &Floor) -> Option<Calls> {
        if self.failure.is_some() {
            return None;
        }
        let groups = groups::groups(&self.samples).ok()?;
        let rate = Rate::of(&self.rates);
        let is_timed = self.latency.len() > 0;
        let percentile = |percent| is_timed.then(|| self.latency.percentile(percent));
        let (p50_ns, floor_p50_ns) = (percentile(50.0), self.floor.p50_ns());
        let p50_to_floor = match groups::largest(&groups) {
            Some(group) => group.p50_to_floor,
            None => p50_ns
                .zip(floor_p50_ns)
                .map(|(ns, floor)| ns as f64 / floor as f64),
        };
        Some(Calls {
            wire: self.item.wire().to_owned(),
            waiting: self.item.setup.waiting_name().to_owned(),
            call: self.item.call.name.to_owned(),
            bytes: self.item.call.bytes,
            grid: self.item.grid,
            host_threads: self.item.host_threads,
            rounds: self.rates.len() as u32,
            requests: self.requests,
            rate_to_floor: rate.median / floor.rate.median,
            p50_to_floor,
            rate,
            p50_ns,
            p99_ns: percentile(99.0),
            floor_p50_ns,
            groups,
            cores: self.cores.filter(|_| self.pinned),
        })
    }

    /// The failed measurement and its error.
    pub(crate) fn failed(&self) -> Option<Failed> {
        let error = self.failure.as_ref()?;
        Some(Failed {
            what: self.item.to_string(),
            error: format!("{error:#}"),
        })
    }
}
