//! Producer of [`gcn_queue`](shared_abi::wire::gcn_queue).
//!
//! Every word of a message is an atomic store of system scope, in the order of this file. Plain
//! stores before a releasing one are not enough: on gfx908, as the authors of the parallel
//! reverse-offload patch found, they may reach memory after the released word. A call has two
//! forms; this file makes the one with a separate completion word.
//!
//! One fault of GCC's own device code is fixed here: tickets are compared by difference, so the
//! counters may wrap.

use core::mem::offset_of;

use shared_abi::status::Status;
use shared_abi::wire::WireKind;
use shared_abi::wire::gcn_queue::{CALL, GcnCall, GcnMessage, GcnQueue, RAW, SLOTS, TEXT};
use shared_abi::words::{Load, Store, SystemWords, TicketWord};

use super::Wire;
use super::gcc_ring::wait;
use crate::arch::{self, Mapped};
use crate::call::Call;
use crate::host_written::RuntimeConfig;
use crate::lanes;
use crate::marshal::gcc::Prepared;
use crate::wake::wake_host;

/// Calls through the queue.
pub(crate) struct Queue;

impl Wire for Queue {
    const KIND: WireKind = WireKind::GCN_QUEUE;

    fn call(runtime: &RuntimeConfig, call: Call, report: impl Fn(Status) + Copy) {
        lanes::serialize_lanes(|| report(Self::call_alone(runtime, call)))
    }
}

impl Queue {
    /// A lane that waits for an extent or for its ticket may wait for a neighbour.
    fn call_alone(runtime: &RuntimeConfig, call: Call) -> Status {
        let Some(prepared) = Prepared::new(runtime, call) else {
            return Status::REFUSED_MAPPING;
        };
        let queue = mapped_queue(runtime);
        let ticket = draw(&queue, 1);
        claim(&queue, SLOTS, ticket, arch::pause);
        let request = GcnCall {
            func: call.func,
            mapnum: u64::from(call.args.count()),
            addrs: prepared.addrs(),
            sizes: prepared.sizes(),
            kinds: prepared.kinds(),
            dev_num: call.device_num as u64,
            signal: prepared.signal(),
        };
        publish_call(&queue, SLOTS, ticket, &request);
        wake_host(runtime);
        wait(&prepared.area(), prepared.signal_offset(), arch::pause);
        prepared.finish()
    }

    /// Prints `label` and a number of type `kind` with these bits.
    pub(crate) fn print_number(runtime: &RuntimeConfig, label: &[u8], kind: u32, bits: u64) {
        lanes::serialize_lanes(|| {
            let queue = mapped_queue(runtime);
            let ticket = draw(&queue, 1);
            claim(&queue, SLOTS, ticket, arch::pause);
            publish_number(&queue, SLOTS, ticket, label, kind, bits);
            wake_host(runtime);
        });
    }

    /// Prints `text`, in several messages if it is long. No other thread's message comes between
    /// them, unless this thread stops for a second in between and another launch ends meanwhile.
    pub(crate) fn print_text(runtime: &RuntimeConfig, text: &[u8]) {
        lanes::serialize_lanes(|| {
            let queue = mapped_queue(runtime);
            let mut ticket = draw(&queue, text.len().div_ceil(2 * TEXT) as u32);
            for part in text.chunks(2 * TEXT) {
                claim(&queue, SLOTS, ticket, arch::pause);
                publish_text(&queue, SLOTS, ticket, part);
                wake_host(runtime);
                ticket = ticket.wrapping_add(1);
            }
        });
    }
}

#[inline(always)]
fn mapped_queue(runtime: &RuntimeConfig) -> Mapped {
    // SAFETY: the host wrote the address of a wire of this kind, which it keeps while
    // kernels of this image run.
    unsafe { arch::mapped(runtime.wire()) }
}

/// Draws `count` tickets; returns the first.
pub fn draw(system: &impl TicketWord, count: u32) -> u32 {
    system.fetch_add_relaxed(offset_of!(GcnQueue, next_output), count)
}

/// Waits with `pause` until the slot of `ticket`, one of `slots` ([`SLOTS`] except in tests), is
/// free.
pub fn claim(system: &impl SystemWords, slots: u32, ticket: u32, pause: impl Fn(u32)) {
    let mut attempt = 0;
    loop {
        // Edge `Q2`, claiming end: the host's last use of the slots below the count comes
        // before it.
        let consumed = system.load32(offset_of!(GcnQueue, consumed), Load::Acquire);
        // Both counters wrap; see `gcc_ring`.
        if (ticket.wrapping_sub(consumed) as i32) < slots as i32 {
            return;
        }
        pause(attempt);
        attempt = attempt.saturating_add(1);
    }
}

/// Byte offset of the slot of `ticket`.
const fn slot_at(slots: u32, ticket: u32) -> usize {
    offset_of!(GcnQueue, queue) + (ticket % slots) as usize * size_of::<GcnMessage>()
}

/// Publishes a call under `ticket`, whose slot is claimed.
pub fn publish_call(system: &impl SystemWords, slots: u32, ticket: u32, call: &GcnCall) {
    let at = slot_at(slots, ticket) + offset_of!(GcnMessage, value) + offset_of!(GcnCall, signal);
    // Relaxed, here and below: Q1 orders these for the host.
    system.store64(at, call.signal, Store::Relaxed);
    publish_call_in_slot(system, slots, ticket, call);
}

/// Like [`publish_call`], for a call whose reply goes into its slot: like GCC's own code, it leaves
/// the completion word's address unchanged.
pub fn publish_call_in_slot(system: &impl SystemWords, slots: u32, ticket: u32, call: &GcnCall) {
    let at = slot_at(slots, ticket);
    let value = at + offset_of!(GcnMessage, value);
    let store = |field: usize, word: u64| system.store64(value + field, word, Store::Relaxed);
    store(offset_of!(GcnCall, func), call.func);
    store(offset_of!(GcnCall, mapnum), call.mapnum);
    store(offset_of!(GcnCall, addrs), call.addrs);
    store(offset_of!(GcnCall, sizes), call.sizes);
    store(offset_of!(GcnCall, kinds), call.kinds);
    store(offset_of!(GcnCall, dev_num), call.dev_num);
    publish(system, at, CALL);
}

/// Publishes at most [`TEXT`] bytes of `label`, and a number, under `ticket`.
pub fn publish_number(
    system: &impl SystemWords,
    slots: u32,
    ticket: u32,
    label: &[u8],
    kind: u32,
    bits: u64,
) {
    let at = slot_at(slots, ticket);
    store_label(system, at, label);
    system.store64(at + offset_of!(GcnMessage, value), bits, Store::Relaxed);
    publish(system, at, kind);
}

/// Publishes at most twice [`TEXT`] bytes of `text` under `ticket`.
pub fn publish_text(system: &impl SystemWords, slots: u32, ticket: u32, text: &[u8]) {
    let at = slot_at(slots, ticket);
    let (label, more) = text.split_at_checked(TEXT).unwrap_or((text, &[]));
    store_label(system, at, label);
    let value = at + offset_of!(GcnMessage, value);
    for word in 0..words_of(more, 8) {
        system.store64(value + word * 8, word_of(more, word, 8), Store::Relaxed);
    }
    publish(system, at, RAW);
}

fn store_label(system: &impl SystemWords, at: usize, label: &[u8]) {
    let at = at + offset_of!(GcnMessage, label);
    for word in 0..words_of(label, 4) {
        let bytes = word_of(label, word, 4) as u32;
        system.store32(at + word * 4, bytes, Store::Relaxed);
    }
}

/// The number of words of `size` bytes of a text, with its terminating 0 unless the text fills
/// its field.
fn words_of(text: &[u8], size: usize) -> usize {
    (text.len() / size + 1).min(TEXT / size)
}

/// A word of the text, padded with zeros.
fn word_of(text: &[u8], word: usize, size: usize) -> u64 {
    let bytes = text.iter().skip(word * size).take(size);
    bytes
        .rev()
        .fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Writes the type of the message in the slot at `at`, and hands the slot to the host.
fn publish(system: &impl SystemWords, at: usize, kind: u32) {
    system.store32(at + offset_of!(GcnMessage, kind), kind, Store::Relaxed);
    // Edge `Q1`, publishing end: a host that sees `written` sees the rest.
    system.store32(at + offset_of!(GcnMessage, written), 1, Store::Release);
}

/// Waits until the host has answered [`publish_call_in_slot`]. Only GCC's own code makes such
/// calls.
pub fn wait_in_slot(system: &impl SystemWords, slots: u32, ticket: u32, pause: impl Fn(u32)) {
    let at = slot_at(slots, ticket) + offset_of!(GcnMessage, written);
    let mut attempt = 0;
    // Edge `Q3`, waiting end: what the host copied back was stored before the 0.
    while system.load32(at, Load::Acquire) != 0 {
        pause(attempt);
        attempt = attempt.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::{TEXT, word_of, words_of};

    /// The number of words of a text, and the first three.
    fn words(text: &[u8], size: usize) -> (usize, [u64; 3]) {
        let count = words_of(text, size);
        (count, core::array::from_fn(|i| word_of(text, i, size)))
    }

    #[test]
    fn a_text_ends_with_a_zero_unless_it_fills_its_room() {
        assert_eq!(words(b"", 4), (1, [0, 0, 0]));
        assert_eq!(words(b"abc", 4), (1, [0x0063_6261, 0, 0]));
        assert_eq!(words(b"abcd", 4), (2, [0x6463_6261, 0, 0]));
        assert_eq!(words(b"abcdefghi", 8).0, 2);
        assert_eq!(words(b"abcdefghi", 8).1[1], 0x69);
        assert_eq!(words_of(&[1; TEXT - 1], 4), TEXT / 4);
        assert_eq!(words_of(&[1; TEXT], 4), TEXT / 4);
        assert_eq!(words_of(&[1; TEXT], 8), TEXT / 8);
    }
}
