//! Kernels on the emulators: any code ends with a result or a fault, or when it is stopped.

use std::ptr::NonNull;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use device_arena::{AccessKind, CheckedArena, Fill};
use gcn_emu::{AddressSpace, Arch, Dispatch};

use crate::input::Counter;
use crate::target::{LONG, Target};
use crate::{code_objects, ptx};

/// Loads an [edited](edit) text, and runs each of its kernels.
pub(super) const PTX: Target = Target {
    name: "ptx-run",
    run: |bytes| {
        run_ptx(&edit(bytes), TIME);
    },
    // Each instruction that is replaced is its own replacement.
    seeds: || {
        [0, 1]
            .map(|text| [&[text][..], &[0; EDIT * MAX_EDITS]].concat())
            .to_vec()
    },
    is_valid: |bytes| run_ptx(&edit(bytes), LONG) == 1,
    cost: 10,
    tally: Some(|| PTX_COUNTER.tally()),
};

/// Runs instructions, in the form of `gcn-instructions`.
pub(super) const GCN: Target = Target {
    name: "gcn-run",
    run: |bytes| {
        run_gcn(bytes, TIME);
    },
    seeds: code_objects::instructions,
    is_valid: |bytes| run_gcn(bytes, LONG) == Some(true),
    cost: 1,
    tally: Some(|| GCN_COUNTER.tally()),
};

/// Edited texts, and those of which a kernel was launched.
static PTX_COUNTER: Counter = Counter::new();

/// Instructions, and those that were launched.
static GCN_COUNTER: Counter = Counter::new();

/// The time after which a mutation is stopped: it may loop forever.
const TIME: Duration = Duration::from_millis(20);

/// A kernel that uses memory of each kind, and others of its block.
const LOOP: &str = r"
.version 6.3
.target sm_70
.address_size 64
.shared .align 4 .b8 all[128];
.visible .entry sum(.param .u64 out)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .b64 %d<2>;
    .local .align 8 .b8 frame[16];
    ld.param.u64 %d1, [out];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, all;
    add.u32 %r2, %r2, %r3;
    st.shared.u32 [%r2], %r1;
    st.local.u32 [frame+4], %r1;
    bar.sync 0;
    mov.u32 %r4, 8;
$next:
    ld.shared.u32 %r5, [%r3];
    shfl.sync.bfly.b32 %r5, %r5, 1, 31, -1;
    red.global.add.u32 [%d1], %r5;
    sub.u32 %r4, %r4, 1;
    setp.ne.u32 %p, %r4, 0;
    @%p bra $next;
    ret;
}
";

/// The texts to edit.
const TEXTS: [&str; 2] = [ptx::SEED, LOOP];

/// The bytes of an edit.
const EDIT: usize = 3;

/// The most edits of a text: with more, few would still be PTX.
const MAX_EDITS: usize = 4;

/// One of the texts, which the first byte chooses, with edits by those that follow: of text that is mutated byte by byte,
/// almost nothing is PTX. An edit replaces an instruction by another, or a word of it by one like it.
fn edit(bytes: &[u8]) -> String {
    let (text, edits) = match bytes {
        [text, edits @ ..] => (usize::from(*text), edits),
        [] => (0, bytes),
    };
    let lines = TEXTS[text % TEXTS.len()].lines();
    let (mut instructions, mut others) = (Vec::new(), Vec::new());
    for (number, line) in lines.enumerate() {
        if line.starts_with("    ") && !line.starts_with("    .") {
            instructions.push((number, line.split_whitespace().collect::<Vec<_>>()));
        } else {
            others.push((number, vec![line]));
        }
    }
    for edit in edits.chunks_exact(EDIT).take(MAX_EDITS) {
        let [what, to, from] = [edit[0], edit[1], edit[2]].map(usize::from);
        let count = instructions.len();
        if what % 2 == 0 {
            instructions[to % count].1 = instructions[from % count].1.clone();
            continue;
        }
        let words = &instructions[to % count].1;
        let place = what / 2 % words.len();
        let all = instructions.iter().flat_map(|(_, words)| words);
        let alike: Vec<_> = all
            .filter(|word| kind(word) == kind(words[place]))
            .collect();
        let word = *alike[from % alike.len()];
        instructions[to % count].1[place] = word;
    }
    let mut lines = [instructions, others].concat();
    lines.sort_unstable_by_key(|&(number, _)| number);
    let lines = lines.iter().map(|(_, words)| words.join(" ") + "\n");
    lines.collect()
}

/// The kind of an instruction's word, which only a word of the same kind may replace: its kind of register, or whether it
/// is a number or a name, and the punctuation after it.
fn kind(word: &str) -> [Option<char>; 2] {
    let class = |letter: char| match letter {
        '0'..='9' | '-' => '0',
        'A'..='Z' | 'a'..='z' => 'a',
        other => other,
    };
    let register = word.strip_prefix('%').and_then(|name| name.chars().next());
    let first = register.or_else(|| word.chars().next().map(class));
    [first, word.chars().next_back().map(class)]
}

static PTX_MACHINE: LazyLock<ptx_emu::Machine> = LazyLock::new(|| {
    let options = ptx_emu::Options {
        memory: 64 << 20,
        processors: 1,
        patience: TIME,
        ..ptx_emu::Options::default()
    };
    ptx_emu::Machine::new(options).expect("addresses")
});

/// The number of kernels that have ended without a fault in this time.
fn run_ptx(text: &str, time: Duration) -> usize {
    let machine = &*PTX_MACHINE;
    // The definition of a function that texts only declare.
    let helper = ".version 6.3\n.target sm_70\n.address_size 64\n\
                  .visible .func (.param .b32 out) greet (.param .b64 in) { ret; }\n";
    let parts = [("fuzzed", text), ("helper", helper)];
    let parts = parts.map(|(name, text)| ptx_emu::Part { name, text });
    let module = match machine.load(&parts).or_else(|_| machine.load(&parts[..1])) {
        Ok(module) => module,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            PTX_COUNTER.count(false);
            return 0;
        }
    };
    let memory = machine.memory().alloc(4096).expect("room");
    let kernels: Vec<_> = module.kernels().map(|(_, kernel)| kernel).take(4).collect();
    let (mut has_launched, mut ended) = (false, 0);
    for kernel in kernels {
        // Pointers, and numbers that are not too large.
        let params: Vec<_> = module
            .params(kernel)
            .into_iter()
            .map(|bytes| {
                let mut param = vec![0; bytes as usize];
                match param.len() {
                    8 => param.copy_from_slice(&memory.to_le_bytes()),
                    _ => param.iter_mut().step_by(4).for_each(|byte| *byte = 7),
                }
                param
            })
            .collect();
        let grid = ptx_emu::Grid {
            grid: [2, 1, 1],
            block: [32, 1, 1],
            shared: 0,
        };
        let running = machine.launch(&module, kernel, grid, &params, Box::new(|_| {}));
        has_launched |= running.is_ok();
        let result = running.ok().and_then(|running| {
            let result = running.wait(Some(Instant::now() + time));
            running.stop();
            result.or_else(|| running.wait(None))
        });
        match result {
            Some(Ok(())) => ended += 1,
            Some(Err(fault)) => {
                let is_panic = matches!(fault.what, ptx_emu::FaultKind::Interpreter(_));
                assert!(!is_panic && !fault.to_string().is_empty(), "{fault}");
            }
            None => {}
        }
    }
    machine.memory().free(memory);
    PTX_COUNTER.count(has_launched);
    ended
}

/// The first address of its memory.
const GCN_BASE: u64 = 0x4000_0000_0000;

struct GcnMemory(CheckedArena);

// SAFETY: the arena stays mapped as long as it lives, begins at a multiple of a page, and is accessed atomically.
unsafe impl AddressSpace for GcnMemory {
    fn resolve(&self, address: u64, bytes: u64, kind: AccessKind) -> Option<NonNull<u8>> {
        self.0.resolve(address, bytes, kind)
    }

    fn is_of_host(&self, _: u64) -> bool {
        false
    }

    fn describe(&self, _: u64) -> Option<String> {
        None
    }
}

struct Gpu {
    memory: Arc<GcnMemory>,
    machine: gcn_emu::Machine,
}

static GPUS: LazyLock<[Gpu; Arch::ALL.len()]> = LazyLock::new(|| {
    Arch::ALL.map(|arch| {
        let arena = CheckedArena::new(64 << 20, Some(GCN_BASE)).expect("addresses");
        let memory = Arc::new(GcnMemory(arena));
        let options = gcn_emu::Options {
            arch,
            processors: 1,
            patience: TIME,
            ..gcn_emu::Options::default()
        };
        Gpu {
            machine: gcn_emu::Machine::new(options, Arc::clone(&memory) as _),
            memory,
        }
    })
});

impl Gpu {
    /// Allocates memory with these bytes.
    fn place(&self, bytes: &[u8]) -> u64 {
        let size = bytes.len() as u64;
        let address = self.memory.0.alloc(size, Fill::Zeros).expect("room");
        let to = self.memory.0.host(address).expect("its memory");
        // SAFETY: a block of as many bytes, which no kernel uses yet.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        address
    }
}

/// Where the code begins, after the descriptor.
const ENTRY: usize = 256;

/// Whether the kernel has ended without a fault in this time; `None` if it was not launched.
fn run_gcn(bytes: &[u8], time: Duration) -> Option<bool> {
    let (target, code) = code_objects::choose(bytes)?;
    let gpu = &GPUS[Arch::ALL.iter().position(|&arch| arch == target.arch)?];
    // The kernel's descriptor, with 80 vector registers and all user data, and its code.
    let narrow = u32::from(target.wave == gcn_emu::WaveSize::Wave32) << 10;
    let mut image = vec![0; ENTRY];
    for (at, word) in [
        (16, ENTRY as u32),
        (44, 0x0f),
        (48, 0x000f_030f),
        (52, 0x0000_139e),
        (56, 0x7f | narrow),
    ] {
        image[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
    image.extend(code);
    let image = gpu.place(&image);
    let region = gpu
        .machine
        .add_code(image + ENTRY as u64, code, vec![(0, "fuzzed".to_owned())]);
    let data = gpu.place(&[0; 4096]);
    let kernarg = gpu.place(&[data.to_le_bytes(); 32].concat());
    let dispatch = Dispatch {
        kernel: "fuzzed".to_owned(),
        descriptor: image,
        grid: [128, 1, 1],
        workgroup: [64, 1, 1],
        kernarg,
        packet: kernarg,
        queue: kernarg,
        dispatch_id: 0,
        private_bytes: 64,
        group_bytes: 256,
    };
    let result = gpu
        .machine
        .start(dispatch, Box::new(|_| {}))
        .ok()
        .map(|running| {
            let result = running.wait(Some(Instant::now() + time));
            running.stop();
            let result = result
                .or_else(|| running.wait(None))
                .expect("it was stopped");
            if let Err(fault) = &result {
                let is_panic = matches!(fault.kind, gcn_emu::FaultKind::Interpreter(_));
                assert!(!is_panic && !fault.to_string().is_empty(), "{fault}");
            }
            result.is_ok()
        });
    GCN_COUNTER.count(result.is_some());
    drop(region);
    for address in [image, data, kernarg] {
        gpu.memory.0.free(address, |_| {});
    }
    result
}
