//! Every request is completed exactly once, even if it is dropped.

use core::mem::offset_of;
use std::sync::Arc;

use shared_abi::status::Status;
use shared_abi::wire::WireKind;
use shared_abi::wire::bounce::BLOCK;
use shared_abi::wire::gcc_ring::{GccRing, GccRingSlot};
use shared_abi::wire::gcc_slot::GccSlot;
use shared_abi::wire::gcn_queue::{CALL, GcnCall, GcnMessage, GcnQueue};
use shared_abi::wire::native::{
    MapEntry, PLACE_SLOT, ReplyHeader, RequestHeader, Slot, pack_completion, ready_offset,
    slot_offset,
};
use shared_abi::words::{Coherent, Load, Store, SystemWords};

use super::*;
use crate::base::env::Env;
use crate::device::{self, Fill};

/// The sequence number before the first, or the first ticket.
const SEQ: u32 = 7;

const SLOTS: u32 = 8;

/// A wire whose only device thread and only host thread is the test.
struct TestWire {
    access: DeviceAccess,
    parts: WireParts,
    words: Coherent,
}

impl TestWire {
    fn new(kind: WireKind) -> Self {
        let kind = KINDS.iter().find(|known| known.kind == kind).unwrap();
        let device = device::open("host", &Env::read().unwrap()).unwrap();
        let config = WireConfig {
            slots: SLOTS,
            initial_seq: SEQ,
        };
        let access = DeviceAccess {
            bounce: Arc::new(device.alloc_mapped(BLOCK).unwrap()),
            reserved: Arc::default(),
            device,
        };
        let memory = access.device.alloc_mapped((kind.bytes)(&config)).unwrap();
        let parts = (kind.attach)(memory, &config, &access);
        Self {
            // SAFETY: `parts` keeps the wire as long as the test uses its words.
            words: unsafe { parts.wire.detached_words() },
            access,
            parts,
        }
    }

    fn take(&mut self) -> Request {
        match self.parts.poller.poll_all() {
            Poll::Request(request) => request,
            _ => panic!("no request"),
        }
    }

    /// Publishes a request in slot 0 of a `native` wire. The slot carries its argument of 8 bytes.
    fn publish_native(&self) {
        let (at, seq) = (slot_offset(SLOTS, 0), SEQ + 1);
        let header = at + offset_of!(Slot, request);
        let entry = at + offset_of!(Slot, request_payload);
        let tail = u64::from(PLACE_SLOT) << 16 | (size_of::<MapEntry>() as u64) << 32;
        let size = entry + offset_of!(MapEntry, size);
        self.words.store64(size, 8, Store::Relaxed);
        let kind = entry + offset_of!(MapEntry, kind);
        self.words.store64(kind, tail, Store::Relaxed);
        let mapnum = header + offset_of!(RequestHeader, mapnum);
        self.words.store32(mapnum, 1, Store::Relaxed);
        let word = header + offset_of!(RequestHeader, seq);
        self.words.store32(word, seq, Store::Release);
        self.words.store32(ready_offset(0), seq, Store::Relaxed);
    }

    /// The completion word and the word `copied` of the reply in slot 0.
    fn reply(&self) -> (u64, u64) {
        let reply = slot_offset(SLOTS, 0) + offset_of!(Slot, reply);
        let word = |field| self.words.load64(reply + field, Load::Relaxed);
        let completion = word(offset_of!(ReplyHeader, seq));
        (completion, word(offset_of!(ReplyHeader, copied)))
    }

    /// Publishes a call on a `gcn-queue`.
    fn publish_gcn(&self, signal: u64) {
        let message = offset_of!(GcnQueue, queue) + SEQ as usize * size_of::<GcnMessage>();
        let value = message + offset_of!(GcnMessage, value);
        self.words
            .store64(value + offset_of!(GcnCall, signal), signal, Store::Relaxed);
        let kind = message + offset_of!(GcnMessage, kind);
        self.words.store32(kind, CALL, Store::Relaxed);
        let written = message + offset_of!(GcnMessage, written);
        self.words.store32(written, 1, Store::Release);
        let drawn = offset_of!(GcnQueue, next_output);
        self.words.store32(drawn, SEQ + 1, Store::Relaxed);
    }
}

/// Writes the argument of `request`.
fn write_argument(wire: &TestWire, request: &mut Request) {
    let mut copier = wire.access.copier();
    let mut args = Vec::new();
    request.read_args(&mut copier, 1, &mut args).unwrap();
    let range = ArgRange::in_arg(&args[0], args[0].addr, 8);
    // SAFETY: the range has 8 bytes, like the constant, which is static.
    unsafe { request.write(&mut copier, range, [1; 8].as_ptr()) }.unwrap();
    copier.finish().unwrap();
}

#[test]
fn a_dropped_request_of_native_fails() {
    let mut wire = TestWire::new(WireKind::NATIVE);
    wire.publish_native();
    let mut request = wire.take();
    write_argument(&wire, &mut request);
    let (seq, none) = (SEQ + 1, pack_completion(SEQ, Status::NONE.0));
    assert_eq!(wire.reply(), (none, 0));
    drop(request);
    let failed = pack_completion(seq, Status::FUNCTION_FAILED.0);
    assert_eq!(wire.reply(), (failed, 0), "the argument counts as written");
}

#[test]
fn a_completed_request_is_not_failed_by_its_drop() {
    let mut wire = TestWire::new(WireKind::NATIVE);
    wire.publish_native();
    let mut request = wire.take();
    write_argument(&wire, &mut request);
    let mut copier = wire.access.copier();
    request.complete(&mut copier, Status::DONE).unwrap();
    assert_eq!(wire.reply(), (pack_completion(SEQ + 1, Status::DONE.0), 1));
}

#[test]
fn a_dropped_request_of_gcc_slot_is_completed() {
    let mut wire = TestWire::new(WireKind::GCC_SLOT);
    let func = offset_of!(GccSlot, func);
    wire.words.store64(func, 1, Store::Release);
    let request = wire.take();
    assert_ne!(wire.words.load64(func, Load::Relaxed), 0);
    drop(request);
    assert_eq!(wire.words.load64(func, Load::Relaxed), 0);
}

#[test]
fn a_dropped_request_with_a_signal_is_completed() {
    for kind in [WireKind::GCC_RING, WireKind::GCN_QUEUE] {
        let mut wire = TestWire::new(kind);
        let device = Arc::clone(&wire.access.device);
        let signal = device.alloc(4, Fill::Zeros).unwrap();
        if kind == WireKind::GCN_QUEUE {
            wire.publish_gcn(signal.0);
        } else {
            let slot = offset_of!(GccRing, queue) + SEQ as usize * size_of::<GccRingSlot>();
            let word = slot + offset_of!(GccRingSlot, signal);
            wire.words.store64(word, signal.0, Store::Release);
            let drawn = offset_of!(GccRing, next_slot);
            wire.words.store32(drawn, SEQ + 1, Store::Relaxed);
        }
        let mut queue = device.queue().unwrap();
        let mut read = || {
            let mut word = 0u32;
            // SAFETY: `word` has 4 bytes and is not used before `synchronize` returns.
            unsafe { queue.copy_from_device((&raw mut word).cast(), signal, 4) }.unwrap();
            queue.synchronize().unwrap();
            word
        };
        let request = wire.take();
        assert_eq!(read(), 0);
        drop(request);
        assert_eq!(read(), 1, "{kind:?}");
        device.free(signal);
    }
}

#[test]
fn a_dropped_request_that_is_answered_in_its_slot_is_completed() {
    let mut wire = TestWire::new(WireKind::GCN_QUEUE);
    wire.publish_gcn(0);
    let message = offset_of!(GcnQueue, queue) + SEQ as usize * size_of::<GcnMessage>();
    let written = message + offset_of!(GcnMessage, written);
    let request = wire.take();
    assert_eq!(wire.words.load32(written, Load::Relaxed), 1);
    drop(request);
    assert_eq!(wire.words.load32(written, Load::Relaxed), 0);
}
