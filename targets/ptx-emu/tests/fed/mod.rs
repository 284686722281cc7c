//! Kernels that a host thread serves while they run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ptx_emu::{FaultKind, Grid, Machine, Module, Part, Running};

use crate::{machine, text};

/// Rounds of a loop that the host serves.
const ROUNDS: u32 = 10;

/// Requests by the word at 0, waits for the word at 64, and loads the words at 128 of mapped and of
/// device memory.
const LOOP: &str = "
    setp.ne.u32 %p0, %t, 0;
    @%p0 ret;
    mov.u32 %r0, 0;
ROUND:
    add.u32 %r0, %r0, 1;
    st.global.u32 [%m+192], %r0;
    st.release.sys.global.u32 [%m], %r0;
WAIT:
    ld.acquire.sys.global.u32 %r1, [%m+64];
    setp.ne.u32 %p0, %r1, %r0;
    @%p0 bra WAIT;
    ld.global.u32 %r2, [%m+128];
    ld.global.u32 %r3, [%d+128];
    st.global.u32 [%d+128], %r3;
    setp.lt.u32 %p0, %r0, 10;
    @%p0 bra ROUND;";

struct Served {
    machine: Machine,
    module: Arc<Module>,
    device: u64,
    mapped: u64,
    host: usize,
}

impl Served {
    fn new(body: &str) -> Self {
        let machine = machine(true, 90);
        let text = text(body, 90);
        let part = Part {
            name: "kernel.ptx",
            text: &text,
        };
        let module = machine.load(&[part]).expect("it can be loaded");
        let device = machine.memory().alloc(4096).expect("there is room");
        let (host, mapped) = machine.memory().alloc_mapped(4096).expect("there is room");
        Self {
            machine,
            module,
            device,
            mapped,
            host: host.as_ptr() as usize,
        }
    }

    fn launch(&self) -> Running {
        let kernel = self.module.kernel("kernel").expect("it is there");
        let params = [self.device, self.mapped].map(|address| address.to_le_bytes().to_vec());
        let grid = Grid {
            grid: [1, 1, 1],
            block: [32, 1, 1],
            shared: 0,
        };
        let launched = self
            .machine
            .launch(&self.module, kernel, grid, &params, Box::new(|_| {}));
        launched.expect("it can be launched")
    }

    /// A word of mapped memory.
    fn word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: the block is allocated as long as the machine is, it is aligned, and all threads
        // access it atomically.
        unsafe { AtomicU32::from_ptr((self.host + at) as *mut u32) }
    }

    /// A word of device memory, copied.
    fn copy(&self, at: u64, value: u32) {
        let to = self.machine.memory().host(self.device + at, 4);
        let to = to.expect("it is allocated").as_ptr().cast();
        // SAFETY: the device memory is allocated, aligned, and accessed atomically by device
        // threads.
        unsafe { AtomicU32::from_ptr(to) }.store(value, Ordering::Release);
    }

    /// Waits until a word has a value; returns whether it ever has.
    fn awaits(&self, at: usize, value: u32, running: &Running) -> bool {
        while self.word(at).load(Ordering::Acquire) != value {
            if running.is_over() {
                return false;
            }
            std::thread::yield_now();
        }
        true
    }

    /// Serves the loop; `tells` decides whether it reports to the checker. Returns the race report.
    fn serve(&self, tells: bool) -> Option<String> {
        let running = self.launch();
        for round in 1..=ROUNDS {
            if !self.awaits(0, round, &running) {
                break;
            }
            if tells {
                self.machine.host_read(self.mapped, 4);
                self.machine.host_read(self.mapped + 192, 4);
            }
            // Relaxed: data, which the reply below publishes.
            self.word(128).store(round + 100, Ordering::Relaxed);
            self.copy(128, round + 200);
            if tells {
                self.machine.host_wrote(self.mapped + 128, 4);
                self.machine.host_wrote(self.device + 128, 4);
            }
            self.word(64).store(round, Ordering::Release);
            if tells {
                self.machine.host_wrote(self.mapped + 64, 4);
            }
        }
        report(&running)
    }
}

fn report(running: &Running) -> Option<String> {
    match running.wait(None).expect("it ends") {
        Ok(()) => None,
        Err(fault) => match fault.what {
            FaultKind::Race(report) => Some(report),
            _ => panic!("{fault}"),
        },
    }
}

#[test]
fn a_loop_that_the_host_feeds_is_right() {
    for tells in [false, true] {
        assert_eq!(Served::new(LOOP).serve(tells), None);
    }
    let fenced = LOOP
        .replace("st.release.sys", "fence.acq_rel.sys;\n    st.relaxed.sys")
        .replace("ld.acquire.sys", "ld.relaxed.sys")
        .replace(
            "    ld.global.u32 %r2",
            "    fence.acq_rel.sys;\n    ld.global.u32 %r2",
        );
    assert_eq!(Served::new(&fenced).serve(true), None);
}

#[test]
fn a_loop_that_the_host_feeds_needs_all_of_it() {
    for (from, to, expected) in [
        ("ld.acquire.sys", "ld.relaxed.sys", "race"),
        ("ld.acquire.sys", "ld.acquire.gpu", "too narrow"),
        ("ld.acquire.sys.global", "ld.global", "race"),
        ("st.release.sys", "st.release.gpu", "too narrow"),
        ("st.release.sys", "st.release.cta", "too narrow"),
    ] {
        for tells in [false, true] {
            let report = Served::new(&LOOP.replace(from, to)).serve(tells);
            let report = report.unwrap_or_else(|| panic!("{to}, {tells}"));
            assert!(report.starts_with(expected), "{to}, {tells}: {report}");
            assert!(expected == "race" || report.contains("the other side is the host"));
        }
    }
    // If the device does not release, the race shows where the host reports its reads.
    for (to, expected) in [("st.relaxed.sys.global", "race"), ("st.global", "race")] {
        let report = Served::new(&LOOP.replace("st.release.sys.global", to)).serve(true);
        let report = report.unwrap_or_else(|| panic!("{to}"));
        assert!(report.starts_with(expected), "{to}: {report}");
    }
}

/// Waits for the word at 0, without an order, and ends.
const WAIT: &str = "
    setp.ne.u32 %p0, %t, 0;
    @%p0 ret;
    st.global.u32 [%d], 1;
    st.relaxed.sys.global.u32 [%m+64], 1;
WAIT:
    ld.relaxed.sys.global.u32 %r1, [%m];
    setp.eq.u32 %p0, %r1, 0;
    @%p0 bra WAIT;";

#[test]
fn copies_that_nothing_orders_are_reported() {
    let served = Served::new(WAIT);
    let running = served.launch();
    assert!(served.awaits(64, 1, &running));
    served.machine.host_read(served.device, 4);
    served.word(0).store(1, Ordering::Release);
    let report = report(&running).expect("the host reads what is not released");
    assert!(report.starts_with("race"), "{report}");
    assert!(report.contains("a load by the host"), "{report}");
}

#[test]
fn memory_that_changes_hands_is_forgotten() {
    let mut served = Served::new(WAIT);
    let first = served.launch();
    assert!(served.awaits(64, 1, &first));
    let memory = served.machine.memory();
    memory.free(served.device);
    // Freed memory is reused after other blocks were freed.
    let mut others = std::iter::repeat_with(|| {
        let other = memory.alloc(4096).expect("room");
        memory.free(other);
        other
    });
    assert!(
        others
            .by_ref()
            .take(1000)
            .any(|other| other == served.device)
    );
    while memory.alloc(4096) != Some(served.device) {}
    let (host, mapped) = served
        .machine
        .memory()
        .alloc_mapped(4096)
        .expect("there is room");
    let stop = served.word(0).as_ptr();
    (served.host, served.mapped) = (host.as_ptr() as usize, mapped);
    let second = served.launch();
    assert!(served.awaits(64, 1, &second));
    served.word(0).store(1, Ordering::Release);
    assert_eq!(report(&second), None);
    // SAFETY: mapped memory of the first launch, which is not freed.
    unsafe { AtomicU32::from_ptr(stop) }.store(1, Ordering::Release);
    assert_eq!(report(&first), None);
}

#[test]
fn launches_that_overlap_race() {
    let mut served = Served::new(WAIT);
    let first = served.launch();
    assert!(served.awaits(64, 1, &first));
    let stop = served.word(0).as_ptr();
    let (host, mapped) = served
        .machine
        .memory()
        .alloc_mapped(4096)
        .expect("there is room");
    (served.host, served.mapped) = (host.as_ptr() as usize, mapped);
    let second = served.launch();
    let report_of_second = report(&second).expect("both store to one word");
    assert!(report_of_second.contains("of launch"), "{report_of_second}");
    // SAFETY: mapped memory of the first launch, which is not freed.
    unsafe { AtomicU32::from_ptr(stop) }.store(1, Ordering::Release);
    assert_eq!(report(&first), None);
    // An ended launch is ordered before later ones.
    served.word(0).store(1, Ordering::Release);
    assert_eq!(report(&served.launch()), None);
}
