//! Launches that are stopped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use emu_engine::{Launch, Processors, Progress, TurnResult};

/// A launch that is stopped while a processor looks at it, before a block has begun.
struct Stopped(Progress<&'static str>);

impl Launch for Stopped {
    type Fault = &'static str;
    type Block = ();
    type Spare = ();

    fn progress(&self) -> &Progress<&'static str> {
        &self.0
    }

    /// Between the processor's look and its choice of a block.
    fn threads(&self) -> u32 {
        self.0.stop();
        1
    }

    fn block(self: &Arc<Self>, _: u64, _: u32, (): &mut ()) {}

    fn turn(&self, (): &mut ()) -> TurnResult {
        TurnResult::Done
    }

    fn dismantle(&self, (): (), (): &mut ()) -> bool {
        true
    }

    fn fail_by_panic(&self, (): &(), _: String) {}

    fn stopped(&self) -> &'static str {
        "stopped"
    }

    fn finish(&self) {}
}

#[test]
fn a_launch_that_is_stopped_before_its_first_block_ends() {
    let processors = Processors::new(1);
    let progress = Progress::new(1, 1, Duration::from_secs(1), Box::new(|_| ()));
    let launch = Arc::new(Stopped(progress));
    processors.submit(Arc::clone(&launch)).unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    let result = launch.0.wait(Some(until), || launch.stopped());
    assert_eq!(result, Some(Err("stopped")));
}
