//! Packets: each ends as processed or as an error of its queue, and others do not notice.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hsa_runtime_sys::*;

use super::runtime::{hsa, works};
use super::world::{
    BARRIER, Packet, SCOPES, World, alloc, allow, comes, dispatch, doorbell, memory_faults, put,
    signal, world, write,
};
use crate::input::{Counter, Operands, calls, seed};
use crate::panics;
use crate::target::Target;

/// Packets of a queue: see [`Step`].
pub(crate) const PACKETS: Target = Target {
    name: "aql-packets",
    run: |bytes| {
        run(bytes);
    },
    seeds,
    is_valid: |bytes| {
        let (written, processed) = run(bytes);
        written > 0 && written == processed
    },
    cost: 40,
    tally: Some(|| COUNTER.tally()),
};

/// Packets that a queue has come to, and those that were processed.
static COUNTER: Counter = Counter::new();

/// Packets of a queue, and the most steps.
const SIZE: u32 = 64;
const MAX_STEPS: usize = 48;

/// Signals of a sequence.
const SIGNALS: usize = 6;

/// The most work-items of a kernel whose end is waited for.
const MAX_ITEMS: u64 = 1 << 14;

/// A step: a packet, a change of the next one, or something that the host does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Kernel,
    And,
    Or,
    Value,
    /// Replaces a word of the next packet.
    Change,
    /// Leaves out the next packet's header.
    Withhold,
    Store,
    Destroy,
    Ring,
}

impl Step {
    /// By the byte that names it: mostly packets.
    fn of(number: u8) -> Self {
        match number % 32 {
            0..12 => Self::Kernel,
            12..17 => Self::And,
            17..21 => Self::Or,
            21..24 => Self::Value,
            24..26 => Self::Change,
            26 => Self::Withhold,
            27..29 => Self::Store,
            29 => Self::Destroy,
            _ => Self::Ring,
        }
    }
}

impl From<Step> for u8 {
    /// The first byte that names it.
    fn from(step: Step) -> Self {
        let mut all = 0..=Self::MAX;
        all.find(|&number| Step::of(number) == step)
            .expect("each has one")
    }
}

type OnError = extern "C" fn(hsa_status_t, *mut hsa_queue_t, *mut c_void);

extern "C" fn failed(status: hsa_status_t, _: *mut hsa_queue_t, errors: *mut c_void) {
    panics::expect(
        status != HSA_STATUS_SUCCESS,
        "an error of a queue without a status",
    );
    // SAFETY: alive until the queue is destroyed.
    let errors = unsafe { &*errors.cast::<AtomicU32>() };
    // Release: who finds the error counted also finds what was done before.
    errors.fetch_add(1, Ordering::Release);
}

/// A queue, and what its packets name.
struct Sequence<'a> {
    world: &'a World,
    queue: *mut hsa_queue_t,
    errors: Box<AtomicU32>,
    /// Signals, and whether they are there.
    signals: [(hsa_signal_t, bool); SIGNALS],
    /// Arguments: pointers, of which some are valid.
    arguments: u64,
    memory: [*mut c_void; 3],
    packets: Vec<Packet>,
    changes: Vec<(usize, u32)>,
    is_withheld: bool,
    /// Whether all kernels end soon.
    is_bounded: bool,
}

impl<'a> Sequence<'a> {
    fn new(world: &'a World, kind: u32) -> Self {
        let [fine, kernarg, own] = world.pools;
        let (arguments, shared, memory) =
            (alloc(kernarg, 256), alloc(fine, 4096), alloc(own, 4096));
        allow(world.gpu, arguments);
        allow(world.gpu, shared);
        let address = |memory: *mut c_void| memory.expose_provenance() as u64;
        let pointers = [
            address(memory),
            address(shared),
            address(memory) + 64,
            0,
            world.foreign(),
            address(memory) + 4096,
            address(memory) + 1,
            1 << 45 | 0x0012_3400,
        ];
        works(hsa!(hsa_memory_copy(
            arguments => *mut c_void, pointers.as_ptr() => *const u64, size_of_val(&pointers) => usize
        )));
        let errors = Box::new(AtomicU32::new(0));
        let mut queue = null_mut();
        works(hsa!(hsa_queue_create(
            world.gpu => hsa_agent_t, SIZE => u32, kind => u32, failed => OnError,
            (&raw const *errors).cast_mut().cast() => *mut c_void, 0 => u32, 0 => u32,
            &raw mut queue => *mut *mut hsa_queue_t
        )));
        Self {
            world,
            queue,
            errors,
            signals: std::array::from_fn(|at| (signal(i64::from(at > 1)), true)),
            arguments: address(arguments),
            memory: [arguments, shared, memory],
            packets: Vec::new(),
            changes: Vec::new(),
            is_withheld: false,
            is_bounded: true,
        }
    }

    /// A signal, or none, or a number that is none.
    fn signal(&self, operands: &mut Operands<'_>) -> u64 {
        match operands.byte() {
            0 => 0,
            choice @ 1..246 => self.signals[usize::from(choice) % SIGNALS].0.handle,
            246 => doorbell(self.queue).handle,
            247 => self.queue.expose_provenance() as u64,
            248..250 => self.arguments,
            250..252 => 1,
            _ => u64::MAX,
        }
    }

    fn perform(&mut self, step: Step, operands: &mut Operands<'_>) {
        match step {
            Step::Kernel => {
                let kernel = match operands.byte() {
                    253.. => self.arguments,
                    250..253 => self.world.kernels[0] + 8,
                    choice @ 240..250 => self.world.kernels[usize::from(choice) % 4],
                    // Mostly kernels that end.
                    choice => self.world.kernels[3 * usize::from(choice % 2)],
                };
                let argument = operands.byte();
                let arguments = match argument {
                    0..220 => self.arguments + 8 * u64::from(argument % 3),
                    220..224 => self.arguments + 8 * u64::from(argument % 32),
                    224..232 => 0,
                    232..240 => self.arguments + 256,
                    _ => 1 << 45 | 0x0045_6700,
                };
                let mut packet = dispatch(kernel, arguments, self.signal(operands));
                packet[3] = operands.mostly(&[32, 1, 64, 33, 1000], &[0, 1 << 20, u32::MAX]);
                packet[1] = operands.mostly(&[32, 64, 1, 1024], &[0, 1025]) | 1 << 16;
                packet[0] |= if operands.byte() % 2 == 1 { BARRIER } else { 0 };
                self.push(packet);
            }
            Step::And | Step::Or => {
                let kind = match step {
                    Step::And => HSA_PACKET_TYPE_BARRIER_AND,
                    _ => HSA_PACKET_TYPE_BARRIER_OR,
                };
                let mut packet = [0; 16];
                packet[0] = kind | SCOPES | if operands.byte() % 2 == 1 { BARRIER } else { 0 };
                for at in 0..4 {
                    put(&mut packet, 2 + 2 * at, self.signal(operands));
                }
                put(&mut packet, 14, self.signal(operands));
                self.push(packet);
            }
            Step::Value => {
                let mut packet = [0; 16];
                packet[0] = SCOPES | HSA_AMD_PACKET_TYPE_BARRIER_VALUE << 16;
                put(&mut packet, 2, self.signal(operands));
                put(&mut packet, 4, operands.of(&[0, 1, u64::MAX, 1 << 63]));
                put(&mut packet, 6, operands.of(&[u64::MAX, 0, 1, 2]));
                packet[8] = operands.mostly(&[0, 3, 0, 3, 1, 2], &[4, u32::MAX]);
                put(&mut packet, 14, self.signal(operands));
                self.push(packet);
            }
            Step::Change => {
                let at = usize::from(operands.byte() % 16);
                let word = [0; 4].map(|_| operands.byte());
                self.changes.push((at, u32::from_le_bytes(word)));
            }
            Step::Withhold => self.is_withheld = true,
            Step::Store => {
                let (signal, is_there) = self.signals[usize::from(operands.byte()) % SIGNALS];
                let value = operands.of(&[0, 1, -1, i64::MAX, i64::MIN]);
                if is_there {
                    hsa!(hsa_signal_store_screlease(signal => hsa_signal_t, value => i64) -> ());
                }
                // Sometimes the queue gets to packets that wait.
                if operands.byte() >= 192 {
                    std::thread::sleep(Duration::from_micros(200));
                }
            }
            Step::Destroy => {
                let at = usize::from(operands.byte()) % SIGNALS;
                let (signal, is_there) = self.signals[at];
                let status = hsa!(hsa_signal_destroy(signal => hsa_signal_t));
                assert_eq!(
                    status == HSA_STATUS_SUCCESS,
                    is_there,
                    "destroying a signal"
                );
                self.signals[at].1 = false;
            }
            Step::Ring => {
                let last = self.packets.len() as i64 - 1;
                let index = operands.of(&[last, last + 1, -1, 0, i64::MIN, i64::MAX, 1 << 40]);
                self.ring(index);
            }
        }
    }

    fn ring(&self, index: i64) {
        let bell = doorbell(self.queue);
        hsa!(hsa_signal_store_screlease(bell => hsa_signal_t, index => i64) -> ());
    }

    /// Writes a packet, if there is room.
    fn push(&mut self, mut packet: Packet) {
        if self.packets.len() == SIZE as usize {
            return;
        }
        for (at, word) in self.changes.drain(..) {
            packet[at] = word;
        }
        if std::mem::take(&mut self.is_withheld) {
            packet[0] = packet[0] & !0xff | HSA_PACKET_TYPE_INVALID;
        }
        let items = packet[3..6]
            .iter()
            .map(|&size| u128::from(size))
            .product::<u128>();
        let is_kernel = packet[0] & 0xff == HSA_PACKET_TYPE_KERNEL_DISPATCH;
        self.is_bounded &= !is_kernel || items <= MAX_ITEMS.into();
        let index = hsa!(hsa_queue_add_write_index_relaxed(self.queue => *const hsa_queue_t, 1 => u64) -> u64);
        write(self.queue, index, &packet);
        self.packets.push(packet);
        self.ring(index.cast_signed());
    }

    fn processed(&self) -> usize {
        hsa!(hsa_queue_load_read_index_scacquire(self.queue => *const hsa_queue_t) -> u64) as usize
    }

    /// Whether a packet waits for something that does not come: its header, or a value other than 0.
    fn waits_for_ever(&self, packet: &Packet) -> bool {
        let kind = packet[0] & 0xff;
        let number = |at: usize| u64::from(packet[at]) | u64::from(packet[at + 1]) << 32;
        match kind {
            HSA_PACKET_TYPE_INVALID => true,
            HSA_PACKET_TYPE_VENDOR_SPECIFIC => {
                let is_there = self
                    .signals
                    .iter()
                    .any(|&(signal, is_there)| is_there && signal.handle == number(2));
                let other = number(4).cast_signed();
                let is_met = match packet[8] {
                    HSA_SIGNAL_CONDITION_EQ => other == 0,
                    HSA_SIGNAL_CONDITION_NE => other != 0,
                    HSA_SIGNAL_CONDITION_LT => 0 < other,
                    _ => 0 >= other,
                };
                // A doorbell never becomes 0 by the host.
                let is_doorbell = doorbell(self.queue).handle == number(2);
                is_doorbell || is_there && !is_met
            }
            HSA_PACKET_TYPE_BARRIER_AND | HSA_PACKET_TYPE_BARRIER_OR => {
                let bell = doorbell(self.queue).handle;
                (0..5).any(|at| number(2 + 2 * at) == bell)
            }
            _ => false,
        }
    }

    /// Waits until all packets are processed, or there was an error. Returns how many were processed.
    fn finish(&self, faults: u32) -> usize {
        self.ring(self.packets.len() as i64 - 1);
        let has_failed = || {
            // Acquire: see `failed`.
            self.errors.load(Ordering::Acquire) > 0 || memory_faults() > faults
        };
        let is_over = || {
            // Their completions change signals again.
            for (signal, _) in self.signals.iter().filter(|(_, is_there)| *is_there) {
                hsa!(hsa_signal_store_screlease(*signal => hsa_signal_t, 0 => i64) -> ());
            }
            let processed = self.processed();
            match self.packets.get(processed) {
                None => true,
                Some(packet) => has_failed() || self.waits_for_ever(packet),
            }
        };
        if self.is_bounded {
            comes("the end of a packet", is_over);
        }
        self.processed()
    }

    fn free(self) {
        works(hsa!(hsa_queue_destroy(self.queue => *mut hsa_queue_t)));
        // Acquire: see `failed`.
        assert!(
            self.errors.load(Ordering::Acquire) <= 1,
            "a queue has one error"
        );
        for (signal, _) in self.signals.iter().filter(|(_, is_there)| *is_there) {
            works(hsa!(hsa_signal_destroy(*signal => hsa_signal_t)));
        }
        for memory in self.memory {
            works(hsa!(hsa_amd_memory_pool_free(memory => *mut c_void)));
        }
    }
}

/// Returns how many packets were written, and how many were processed.
fn run(bytes: &[u8]) -> (usize, usize) {
    let world = world();
    let before = (hsa_emu::counts().held, world.free_memory());
    let Some((&kind, bytes)) = bytes.split_first() else {
        return (0, 0);
    };
    let faults = memory_faults();
    let mut sequence = Sequence::new(&world, u32::from(kind % 2));
    for (number, mut operands) in calls(bytes, MAX_STEPS) {
        sequence.perform(Step::of(number), &mut operands);
    }
    let written = sequence.packets.len();
    let processed = sequence.finish(faults);
    sequence.free();
    panics::check();
    // Nobody looks at packets after one that is an error, or that waits for ever.
    for packet in 0..written.min(processed + 1) {
        COUNTER.count(packet < processed);
    }
    assert_eq!(
        (hsa_emu::counts().held, world.free_memory()),
        before,
        "what is held"
    );
    world.check_others();
    (written, processed)
}

/// Packets that are all processed.
fn seeds() -> Vec<Vec<u8>> {
    let seed = |kind: u8, steps: &[(Step, &[u8])]| [vec![kind], seed(steps)].concat();
    use Step::*;
    vec![
        // Kernels one after the other, and at the same time.
        seed(
            0,
            &[
                (Kernel, &[0, 0, 1, 0, 0, 0]),
                (Kernel, &[0, 1, 2, 2, 1, 1]),
                (Kernel, &[1, 0, 0, 4, 0, 0]),
                (Kernel, &[0, 2, 3, 3, 2, 1]),
            ],
        ),
        // Barriers for kernels, for the host, and of nothing.
        seed(
            1,
            &[
                (Kernel, &[0, 0, 2, 0, 0, 0]),
                (And, &[0, 2, 3, 0, 0, 4]),
                (Or, &[1, 3, 4, 5, 6, 0]),
                (And, &[1]),
                (Value, &[2, 0, 0, 0, 3]),
                (Value, &[0, 0, 0, 0, 4]),
                (Store, &[2, 0]),
                (Kernel, &[0, 0, 0, 0, 0, 1]),
            ],
        ),
        // A change that keeps a packet valid, a doorbell that rings early, and signals that are destroyed unused.
        seed(
            0,
            &[
                (Change, &[12, 1, 2, 3, 4]),
                (Kernel, &[0, 0, 1, 0, 0, 0]),
                (Ring, &[1]),
                (Destroy, &[5]),
                (Ring, &[4]),
                (Kernel, &[1, 0, 1, 0, 0, 1]),
                (Ring, &[5]),
                (And, &[0]),
            ],
        ),
    ]
}
