//! Reads files of the corpus and runs them.
//!
//! A file has two kinds of entries; what follows `#` is a comment.
//!
//! * A row is an instruction, or several with `;` between them, and what it gives:
//!   `add.sat.s32 %d, 0x7fffffff, 1w => 0x7fffffff`. Results are `%d`, `%e`, `%f` and `%g`,
//!   in this order. The notation of values (`values.rs`) says how wide they are, which is
//!   what registers are made after. Rows run with operands in registers and again with
//!   immediate ones, unless a line `registers only` came before (`immediates too` ends that).
//! * A case is a whole text, between `case NAME OPTIONS` and `end`: `cases.rs`.

mod cases;
pub(crate) mod coverage;
mod rows;
mod values;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ptx_emu::{Fault, Grid, LoadError, Machine, Module, Options, Part};

/// A file of the corpus.
#[derive(Clone, Copy)]
pub(crate) struct File {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

/// Bytes of a kernel's input and of its output.
const ROOM: usize = 4096;

/// Longer than any case takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(300);

/// A device and its printed output.
struct Device {
    machine: Machine,
    printed: Arc<Mutex<String>>,
}

impl Device {
    fn new(sm: u32) -> Self {
        let printed = Arc::new(Mutex::new(String::new()));
        let output = Arc::clone(&printed);
        let options = Options {
            sm,
            memory: 64 << 20,
            processors: 2,
            patience: Duration::from_millis(20),
            output: Arc::new(move |text| output.lock().unwrap().push_str(text)),
            ..Options::default()
        };
        let machine = Machine::new(options).unwrap();
        Self { machine, printed }
    }

    fn load(&self, parts: &[Part<'_>]) -> Result<Arc<Module>, LoadError> {
        self.machine.load(parts)
    }

    /// Runs the kernel `test`, whose parameters are the addresses of its output and its input, as
    /// far as it has them. Returns the output afterwards.
    fn run(&self, module: &Arc<Module>, grid: Grid, input: &[u8]) -> Result<Vec<u8>, Box<Fault>> {
        let memory = self.machine.memory();
        let [to, from] = [(); 2].map(|()| memory.alloc(ROOM as u64).unwrap());
        let host = |address| memory.host(address, ROOM as u64).unwrap().as_ptr();
        assert!(input.len() <= ROOM);
        // SAFETY: the block has `ROOM` bytes, and no device thread knows of it yet.
        unsafe { host(from).copy_from_nonoverlapping(input.as_ptr(), input.len()) };
        let kernel = module.kernel("test").unwrap();
        let params: Vec<Vec<u8>> = [to, from]
            .iter()
            .take(module.params(kernel).len())
            .map(|address| address.to_le_bytes().to_vec())
            .collect();
        let running = self
            .machine
            .launch(module, kernel, grid, &params, Box::new(|_| {}))
            .unwrap();
        if running.wait(Some(Instant::now() + DEADLINE)).is_none() {
            running.stop();
        }
        let result = running.wait(None).unwrap();
        let mut output = vec![0; ROOM];
        // SAFETY: the block has `ROOM` bytes, and the only kernel that knew of it ended.
        unsafe { host(to).copy_to_nonoverlapping(output.as_mut_ptr(), ROOM) };
        memory.free(to);
        memory.free(from);
        result.map(|()| output).map_err(Box::new)
    }

    /// The output since the last call.
    fn printed(&self) -> String {
        std::mem::take(&mut self.printed.lock().unwrap())
    }
}

/// The part of a line that is no comment.
fn code(line: &str) -> &str {
    line.split_once('#').map_or(line, |(code, _)| code).trim()
}

/// Runs a whole file.
pub(crate) fn check(file: &File) {
    let mut failures = Vec::new();
    let mut devices = Vec::new();
    let mut immediates = true;
    let mut count = 0;
    let mut lines = (1u32..).zip(file.text.lines());
    while let Some((number, line)) = lines.next() {
        let mut fail = |what: String| failures.push(format!("{}:{number}: {what}", file.name));
        match code(line) {
            "" => {}
            "registers only" => immediates = false,
            "immediates too" => immediates = true,
            code if code.starts_with("case ") => {
                let body = lines.by_ref().take_while(|(_, line)| line.trim() != "end");
                for failure in cases::run(&mut devices, code, &body.collect::<Vec<_>>()) {
                    fail(failure);
                }
                count += 1;
            }
            code => {
                for failure in rows::run(device(&mut devices, 90), code, immediates) {
                    fail(failure);
                }
                count += 1;
            }
        }
    }
    assert!(count > 0, "{} is empty", file.name);
    let (wrong, text) = (failures.len(), failures.join("\n"));
    assert!(wrong == 0, "{wrong} of {count} are wrong:\n{text}");
}

/// The device of an architecture, created when first used.
fn device(devices: &mut Vec<(u32, Device)>, sm: u32) -> &Device {
    let at = devices.iter().position(|&(of, _)| of == sm);
    let at = at.unwrap_or_else(|| {
        devices.push((sm, Device::new(sm)));
        devices.len() - 1
    });
    &devices[at].1
}
