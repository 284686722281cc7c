//! Litmus tests as kernels that run under the checker; host threads are threads of this process.

use std::fmt::Write as _;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use ptx_emu::{FaultKind, Grid, Machine, Options, Part, Running};

use crate::axioms::{Action, Agent, Races, Scope, Semantics, Step, Test, Thread, Update, Value};

/// Bytes from word to word.
const STRIDE: u64 = 64;

pub(crate) struct Bench {
    machine: Machine,
}

/// The locations of a test's words.
struct Words {
    host: NonNull<u8>,
    device: u64,
}

// SAFETY: words are used with atomic operations only.
unsafe impl Sync for Words {}

impl Words {
    fn word(&self, word: usize) -> &AtomicU32 {
        // SAFETY: the block has room for all words, aligned, for as long as the test runs, and all
        // threads access it atomically.
        unsafe { AtomicU32::from_ptr(self.host.as_ptr().add(word * STRIDE as usize).cast()) }
    }

    fn address(&self, word: usize) -> u64 {
        self.device + word as u64 * STRIDE
    }
}

impl Bench {
    pub(crate) fn new() -> Self {
        let options = Options {
            memory: 64 << 20,
            processors: 2,
            check: true,
            ..Options::default()
        };
        Self {
            machine: Machine::new(options).expect("there is memory"),
        }
    }

    /// Runs a test; returns the reported races.
    pub(crate) fn run(&self, test: &Test) -> (Races, String) {
        let text = kernel(test);
        let part = Part {
            name: "litmus.ptx",
            text: &text,
        };
        let module = self.machine.load(&[part]).unwrap_or_else(|error| {
            panic!("{}: {error}\n{text}", test.name);
        });
        let kernel = module.kernel("test").expect("it has a kernel");
        let bytes = (test.words.len() as u64 + 1) * STRIDE;
        let memory = self.machine.memory();
        let (host, device) = memory.alloc_mapped(bytes).expect("there is room");
        let words = Words { host, device };
        let grid = Grid {
            grid: [blocks(test), 1, 1],
            block: [128, 1, 1],
            shared: 0,
        };
        let params = [device.to_le_bytes().to_vec()];
        let running = self
            .machine
            .launch(&module, kernel, grid, &params, Box::new(|_| {}))
            .expect("it can be launched");
        std::thread::scope(|scope| {
            for thread in test.threads.iter().filter(|t| t.agent == Agent::Host) {
                let (words, running) = (&words, &running);
                scope.spawn(move || {
                    self.host(thread, words, running);
                    words.word(test.words.len()).store(1, Ordering::SeqCst);
                });
            }
        });
        let result = running.wait(None).expect("it ends");
        memory.free(device);
        match result {
            Ok(()) => (Races::Clean, String::new()),
            Err(fault) => match &fault.what {
                FaultKind::Race(report) if report.starts_with("race") => {
                    (Races::Race, report.clone())
                }
                FaultKind::Race(report) if report.starts_with("too narrow") => {
                    (Races::Narrow, report.clone())
                }
                _ => panic!("{}: {fault}", test.name),
            },
        }
    }

    /// A thread of the host.
    fn host(&self, thread: &Thread, words: &Words, running: &Running) {
        let mut registers = [0u32; 16];
        for step in &thread.steps {
            if let Some((register, value)) = step.guard
                && u64::from(registers[register]) != value
            {
                continue;
            }
            match step.action {
                Action::Load { to, word } => loop {
                    registers[to] = words.word(word).load(Ordering::SeqCst);
                    self.machine.host_read(words.address(word), 4);
                    let awaited = awaited(thread, to);
                    if awaited.is_none_or(|value| value == u64::from(registers[to]))
                        || running.is_over()
                    {
                        break;
                    }
                    std::thread::yield_now();
                },
                Action::Store { word, value } => {
                    let value = match value {
                        Value::Number(number) => number as u32,
                        Value::Register(register, more) => registers[register] + more as u32,
                    };
                    words.word(word).store(value, Ordering::SeqCst);
                    self.machine.host_wrote(words.address(word), 4);
                }
                Action::Atomic { .. } => panic!("the host shares no atomic operations"),
                Action::Fence => std::sync::atomic::fence(Ordering::SeqCst),
            }
        }
    }
}

/// The value that a thread waits for in a load: the one that later steps require.
fn awaited(thread: &Thread, register: usize) -> Option<u64> {
    let guards = thread.steps.iter().filter_map(|step| step.guard);
    let mut values = guards.filter(|guard| guard.0 == register).map(|g| g.1);
    values.next()
}

fn blocks(test: &Test) -> u32 {
    let blocks = test.threads.iter().map(|thread| match thread.agent {
        Agent::Device { block, .. } => block + 1,
        Agent::Host => 1,
    });
    blocks.max().unwrap_or(1)
}

/// A kernel for a test; all threads have the same registers.
fn kernel(test: &Test) -> String {
    let mut text = String::from(
        ".version 7.8
.target sm_90
.address_size 64
.visible .entry test(.param .u64 words)
{
    .reg .pred %p<2>;
    .reg .b32 %r<17>, %who;
    .reg .b64 %base;
    ld.param.u64 %base, [words];
    mov.u32 %who, %ctaid.x;
    shl.b32 %who, %who, 8;
    mov.u32 %r16, %tid.x;
    add.u32 %who, %who, %r16;
",
    );
    let mut used = Vec::new();
    let mut bodies = String::new();
    for (number, thread) in test.threads.iter().enumerate() {
        let Agent::Device { block, .. } = thread.agent else {
            continue;
        };
        // Threads of a block are in warps of their own.
        let warp = used.iter().filter(|&&other| other == block).count();
        used.push(block);
        let who = block * 256 + warp as u32 * 32;
        let _ = writeln!(text, "    setp.eq.u32 %p0, %who, {who};");
        let _ = writeln!(text, "    @%p0 bra T{number};");
        let _ = writeln!(bodies, "T{number}:");
        for (place, step) in thread.steps.iter().enumerate() {
            instruction(thread, step, &format!("{number}_{place}"), &mut bodies);
        }
        if test
            .threads
            .iter()
            .any(|thread| thread.agent == Agent::Host)
        {
            // Threads that end before the host polls are ordered by that.
            let done = test.words.len() as u64 * STRIDE;
            let _ = writeln!(
                bodies,
                "D{number}:
    ld.acquire.sys.global.u32 %r16, [%base+{done}];
    setp.eq.u32 %p0, %r16, 0;
    @%p0 bra D{number};"
            );
        }
        bodies.push_str("    ret;\n");
    }
    text.push_str("    ret;\n");
    text.push_str(&bodies);
    text.push_str("}\n");
    text
}

fn instruction(thread: &Thread, step: &Step, label: &str, text: &mut String) {
    let at = |word: usize| format!("[%base+{}]", word as u64 * STRIDE);
    let mut guard = String::new();
    if let Some((register, value)) = step.guard {
        let _ = writeln!(text, "    setp.eq.u32 %p1, %r{register}, {value};");
        "@%p1 ".clone_into(&mut guard);
    }
    let mut operand = |value: Value| match value {
        Value::Number(number) => number.to_string(),
        Value::Register(register, more) => {
            let _ = writeln!(text, "    add.u32 %r16, %r{register}, {more};");
            "%r16".to_owned()
        }
    };
    let order = order(step);
    let line = match step.action {
        Action::Load { to, word } => match awaited(thread, to) {
            None => format!("{guard}ld{order}.global.u32 %r{to}, {};", at(word)),
            Some(value) => format!(
                "L{label}:
    ld{order}.global.u32 %r{to}, {};
    setp.ne.u32 %p0, %r{to}, {value};
    @%p0 bra L{label};",
                at(word)
            ),
        },
        Action::Store { word, value } => {
            let value = operand(value);
            format!("{guard}st{order}.global.u32 {}, {value};", at(word))
        }
        Action::Atomic { to, word, update } => {
            let (name, operands) = match update {
                Update::Add(value) => ("add.u32", operand(value)),
                Update::Exchange(value) => ("exch.b32", operand(value)),
                Update::CompareAndSwap(Value::Number(compare), Value::Number(value)) => {
                    ("cas.b32", format!("{compare}, {value}"))
                }
                Update::CompareAndSwap(..) => panic!("numbers only"),
            };
            let at = at(word);
            let atom = format!("atom{order}.global.{name} %r{to}, {at}, {operands};");
            match (name, awaited(thread, to)) {
                // Waits for a lock.
                ("cas.b32", Some(value)) => format!(
                    "L{label}:
    {atom}
    setp.ne.u32 %p0, %r{to}, {value};
    @%p0 bra L{label};"
                ),
                _ => format!("{guard}{atom}"),
            }
        }
        Action::Fence => format!("{guard}fence{order};"),
    };
    let _ = writeln!(text, "    {line}");
}

/// The order and scope of an instruction, as PTX writes them.
fn order(step: &Step) -> String {
    let semantics = match step.semantics {
        Semantics::Weak => return String::new(),
        Semantics::Volatile => return ".volatile".to_owned(),
        Semantics::Relaxed => "relaxed",
        Semantics::Acquire => "acquire",
        Semantics::Release => "release",
        Semantics::AcqRel => "acq_rel",
        Semantics::Sc => "sc",
    };
    let scope = match step.scope {
        Scope::Cta => "cta",
        Scope::Gpu => "gpu",
        Scope::Sys => "sys",
    };
    format!(".{semantics}.{scope}")
}

/// The steps of a test that order others.
pub(crate) fn orders(test: &Test) -> Vec<(usize, usize)> {
    let steps = |(thread, t): (usize, &Thread)| -> Vec<(usize, usize)> {
        let orders = t.steps.iter().enumerate().filter(|(_, step)| {
            !matches!(
                step.semantics,
                Semantics::Weak | Semantics::Relaxed | Semantics::Volatile
            )
        });
        orders.map(|(step, _)| (thread, step)).collect()
    };
    test.threads.iter().enumerate().flat_map(steps).collect()
}

/// Removes a step's ordering.
pub(crate) fn weaken(step: &mut Step) {
    match step.action {
        Action::Fence => step.guard = Some((15, u64::MAX)),
        _ => step.semantics = Semantics::Relaxed,
    }
}
