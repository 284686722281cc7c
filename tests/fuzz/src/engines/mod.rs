//! The ways in which `ptx-emu` executes instructions: unobserved, by the quick way, for one lane or for a group;
//! traced, counted or checked for races, by the other one; and lanes in lock-step or on their own. All must have the
//! same results.
//!
//! Programs are made to have one result: a lane writes its own memory, and reads that of another one only between
//! barriers; what all lanes change is changed by atomic additions whose results nobody uses. There is one warp, since
//! others would run in any order.
//!
//! | file | job |
//! |---|---|
//! | `program` | programs from bytes |

mod program;

use std::sync::{Arc, LazyLock};
use std::time::Instant;

use bus_cost::CountCosts;
use ptx_emu::{Grid, Machine, Options, Part, Trace};

use self::program::{ALL_LANES, LANES, Program, SLOT};
use crate::target::{LONG, Target};

/// A program: see [`program::Op`].
pub(super) const ENGINES: Target = Target {
    name: "ptx-engines",
    run: |bytes| {
        run(bytes);
    },
    seeds: program::seeds,
    is_valid: |bytes| run(bytes) > 5,
    cost: 20,
    tally: None,
};

/// Bytes of results: of each lane, and of all.
const BYTES: u64 = LANES as u64 * SLOT + ALL_LANES;

/// Devices, with names for what they do.
static MACHINES: LazyLock<Vec<(&str, Machine)>> = LazyLock::new(|| {
    let plain = Options {
        sm: 70,
        memory: 16 << 20,
        processors: 1,
        ..Options::default()
    };
    let traced = Options {
        trace: Some(Trace {
            block: [0; 3],
            thread: [0; 3],
            sink: Arc::new(|line| assert!(!line.is_empty())),
        }),
        ..plain.clone()
    };
    let counted = Options {
        costs: Some(CountCosts {
            entry: "twice".to_owned(),
            sink: Arc::new(|_, _| {}),
        }),
        ..plain.clone()
    };
    let checked = Options {
        check: true,
        ..plain.clone()
    };
    let lock_step = Options {
        sm: 60,
        ..plain.clone()
    };
    let counted_lock_step = Options {
        sm: 60,
        ..counted.clone()
    };
    let all = [
        ("plain", plain),
        ("traced", traced),
        ("counted", counted),
        ("checked", checked),
        ("in lock-step", lock_step),
        ("counted in lock-step", counted_lock_step),
    ];
    let make = |(name, options)| (name, Machine::new(options).expect("addresses"));
    all.map(make).into()
});

/// Runs a program on a device. Returns its results.
fn results(machine: &Machine, text: &str, blocks: u32, threads: u32) -> Vec<u8> {
    let part = Part {
        name: "program",
        text,
    };
    let module = machine.load(&[part]);
    let module = module.unwrap_or_else(|error| panic!("{error}\n{text}"));
    let kernel = module.kernel("run").expect("the kernel");
    let memory = machine.memory().alloc(BYTES).expect("room");
    let grid = Grid {
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        shared: 0,
    };
    let params = [memory.to_le_bytes().to_vec()];
    let running = machine.launch(&module, kernel, grid, &params, Box::new(|_| {}));
    let running = running.expect("a valid launch");
    match running.wait(Some(Instant::now() + LONG)) {
        Some(Ok(())) => {}
        Some(Err(fault)) => panic!("{fault}\n{text}"),
        None => panic!("no end of\n{text}"),
    }
    let mut bytes = vec![0; BYTES as usize];
    let host = machine.memory().host(memory, BYTES).expect("its memory");
    // SAFETY: a block of as many bytes, which no kernel uses any more.
    unsafe {
        host.as_ptr()
            .copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len())
    };
    machine.memory().free(memory);
    bytes
}

/// Panics if results differ.
fn compare(program: &Program, expected: &[u8], found: &[u8], how: &str) {
    let first = expected
        .iter()
        .zip(found)
        .position(|(one, other)| one != other);
    if let Some(at) = first {
        let (lane, offset) = (at as u64 / SLOT, at as u64 % SLOT);
        panic!(
            "{how}: lane {lane}, byte {offset} is {:#x}, not {:#x}, after\n{}",
            found[at], expected[at], program.text
        );
    }
}

/// Runs a program in each way. Returns the number of its instructions.
fn run(bytes: &[u8]) -> usize {
    let program = Program::read(bytes);
    let (_, plain) = &MACHINES[0];
    let expected = results(plain, &program.text, 1, LANES);
    for (name, machine) in &MACHINES[1..] {
        let found = results(machine, &program.text, 1, LANES);
        compare(&program, &expected, &found, name);
    }
    if program.is_of_lanes_alone {
        for (name, machine) in [&MACHINES[0], &MACHINES[2]] {
            let found = results(machine, &program.text, LANES, 1);
            compare(
                &program,
                &expected,
                &found,
                &format!("{name}, a lane at a time"),
            );
        }
    }
    program.instructions
}
