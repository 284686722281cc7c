//! Valid messages, written word by word like device code, and invalid ones.

use core::mem::offset_of;

use shared_abi::wire::gcn_queue::{CALL, DOUBLE, GcnMessage, GcnQueue, INTEGER, LINE, RAW, TEXT};
use shared_abi::words::{Coherent, Load, Store, SystemWords};

use super::{Poller, complete, slot_offset};
use crate::device::DeviceAddr;
use crate::wire::gcc::{Completion, GccRequest};
use crate::wire::{Poll, ProtocolError};

const SLOTS: u32 = 4;

/// The device side of a wire of four slots.
struct Device {
    memory: Vec<u64>,
}

impl Device {
    fn new(ticket: u32) -> (Self, Poller<Coherent>) {
        let device = Self {
            memory: vec![0; size_of::<GcnQueue>() / 8],
        };
        device.set32(offset_of!(GcnQueue, next_output), ticket);
        let poller = Poller::new(device.words(), SLOTS, ticket);
        (device, poller)
    }

    fn words(&self) -> Coherent {
        // SAFETY: the vector has the size and alignment of a wire and lives until the test ends.
        // One thread uses it, only by such words.
        unsafe { Coherent::new(self.memory.as_ptr().cast_mut().cast()) }
    }

    fn get32(&self, place: usize) -> u32 {
        self.words().load32(place, Load::Relaxed)
    }

    fn set32(&self, place: usize, value: u32) {
        self.words().store32(place, value, Store::Relaxed);
    }

    fn consumed(&self) -> u32 {
        self.get32(offset_of!(GcnQueue, consumed))
    }

    fn written(&self, ticket: u32) -> u32 {
        self.get32(slot_offset(ticket % SLOTS) + offset_of!(GcnMessage, written))
    }

    /// Draws a ticket.
    fn draw(&self) -> u32 {
        let counter = offset_of!(GcnQueue, next_output);
        let ticket = self.get32(counter);
        self.set32(counter, ticket.wrapping_add(1));
        ticket
    }

    /// Writes a message.
    fn write(&self, ticket: u32, kind: u32, label: &[u8], value: &[u64]) {
        let at = slot_offset(ticket % SLOTS);
        for (i, &byte) in label.iter().enumerate() {
            self.words()
                .store8(at + offset_of!(GcnMessage, label) + i, byte);
        }
        for (i, &word) in value.iter().enumerate() {
            let place = at + offset_of!(GcnMessage, value) + i * 8;
            self.words().store64(place, word, Store::Relaxed);
        }
        self.set32(at + offset_of!(GcnMessage, kind), kind);
        self.set32(at + offset_of!(GcnMessage, written), 1);
    }

    fn send(&self, kind: u32, label: &[u8], value: &[u64]) -> u32 {
        let ticket = self.draw();
        self.write(ticket, kind, label, value);
        ticket
    }

    /// Calls function `func` with a completion word.
    fn call(&self, func: u64) -> u32 {
        self.send(CALL, b"", &[func, 0, 11, 12, 13, 0, 14])
    }

    /// Calls function `func` without a completion word.
    fn call_in_slot(&self, func: u64) -> u32 {
        self.send(CALL, b"", &[func, 0, 11, 12, 13, 0])
    }
}

#[track_caller]
fn assert_prints(poller: &mut Poller<Coherent>, text: &[u8]) {
    assert_eq!(poller.poll(), Poll::Printed(text.to_vec()));
}

#[track_caller]
fn assert_takes(poller: &mut Poller<Coherent>, func: u64, completion: Completion) {
    let words = GccRequest {
        func,
        mapnum: 0,
        addrs: 11,
        sizes: 12,
        kinds: 13,
        completion,
    };
    assert_eq!(poller.poll(), Poll::Request(words));
}

/// The words of a text.
fn words(text: &[u8]) -> Vec<u64> {
    text.chunks(8)
        .map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        })
        .collect()
}

#[test]
fn messages_print_as_gccs_plugin_prints_them() {
    let full = [b'x'; TEXT];
    for (kind, label, value, text) in [
        (INTEGER, &b"n = \0"[..], vec![u64::MAX], &b"n = -1\n"[..]),
        (INTEGER, b"\0", vec![1 << 63], b"-9223372036854775808\n"),
        (DOUBLE, b"d \0", vec![1.5f64.to_bits()], b"d 1.500000\n"),
        (DOUBLE, b"\0", vec![(-0.0f64).to_bits()], b"-0.000000\n"),
        (DOUBLE, b"\0", vec![f64::INFINITY.to_bits()], b"inf\n"),
        (DOUBLE, b"\0", vec![0x7ff8 << 48], b"nan\n"),
        (DOUBLE, b"\0", vec![0xfff8 << 48], b"-nan\n"),
        (LINE, b"one \0and more", words(b"two\0three"), b"one two\n"),
        (RAW, b"\0", words(b"\0"), b""),
        (RAW, b"\xff\0", words(b"\xfe\0"), b"\xff\xfe"),
        (RAW, &full, words(&full), &[b'x'; 2 * TEXT]),
    ] {
        let (device, mut poller) = Device::new(0);
        device.send(kind, label, &value);
        assert_prints(&mut poller, text);
        assert_eq!(poller.poll(), Poll::Empty);
        assert_eq!((device.written(0), device.consumed()), (0, 1));
    }
}

#[test]
fn counters_wrap_and_slots_are_used_again() {
    let (device, mut poller) = Device::new(u32::MAX - 5);
    for n in 0..20u64 {
        device.send(INTEGER, b"\0", &[n]);
        assert_prints(&mut poller, format!("{n}\n").as_bytes());
        device.call(100 + n);
        assert_takes(&mut poller, 100 + n, Completion::Signal(DeviceAddr(14)));
        assert_eq!(device.consumed(), device.get32(4));
    }
}

#[test]
fn a_slow_thread_delays_text_and_no_calls() {
    let (device, mut poller) = Device::new(0);
    let slow = device.draw();
    device.send(LINE, b"later\0", &[0]);
    device.call(7);
    assert_takes(&mut poller, 7, Completion::Signal(DeviceAddr(14)));
    assert_eq!((poller.poll(), device.consumed()), (Poll::Empty, 0));
    device.write(slow, LINE, b"slow\0", &[0]);
    assert_prints(&mut poller, b"slow\n");
    assert_prints(&mut poller, b"later\n");
    assert_eq!((poller.poll(), device.consumed()), (Poll::Empty, 3));
}

#[test]
fn a_flush_waits_for_slow_threads_unless_it_skips_them() {
    for skips_unwritten in [false, true] {
        // The counters wrap during the flush.
        let (device, mut poller) = Device::new(u32::MAX);
        let slow = device.draw();
        device.send(LINE, b"later\0", &[0]);
        poller.begin_flush();
        // It does not belong to the flush.
        let next = device.draw();
        device.write(next, LINE, b"next\0", &[0]);
        assert_eq!(poller.poll_flush(false), Poll::Incomplete);
        let [slow_text, later] =
            [&b"slow\n"[..], b"later\n"].map(|text| Poll::Printed(text.into()));
        if skips_unwritten {
            assert_eq!(poller.poll_flush(true), later);
            assert_eq!(poller.poll_flush(true), Poll::Empty);
            assert_eq!(poller.poll_flush(false), Poll::Incomplete);
        }
        device.write(slow, LINE, b"slow\0", &[0]);
        assert_eq!(poller.poll_flush(false), slow_text);
        if !skips_unwritten {
            assert_eq!(poller.poll_flush(false), later);
        }
        assert_eq!(
            (poller.poll_flush(false), device.consumed()),
            (Poll::Empty, 1)
        );
        assert_prints(&mut poller, b"next\n");
        // Behind the end of the flush, too.
        device.draw();
        assert_eq!(poller.poll_flush(false), Poll::Empty);
    }
}

#[test]
fn text_is_taken_in_the_order_of_tickets() {
    let (device, mut poller) = Device::new(2);
    let tickets: Vec<u32> = (0..4).map(|_| device.draw()).collect();
    for &ticket in tickets.iter().rev() {
        device.write(ticket, INTEGER, b"\0", &[ticket.into()]);
    }
    for ticket in tickets {
        assert_prints(&mut poller, format!("{ticket}\n").as_bytes());
    }
}

#[test]
fn a_call_without_a_completion_word_is_answered_in_its_slot() {
    let (device, mut poller) = Device::new(0);
    // The rest of earlier messages in the slot must not count as a completion word.
    for _ in 0..SLOTS {
        device.send(RAW, b"\0", &words(&[b'y'; TEXT]));
        assert_prints(&mut poller, &[b'y'; TEXT]);
    }
    let (one, two) = (device.call_in_slot(1), device.call_in_slot(2));
    device.send(LINE, b"beside\0", &[0]);
    assert_takes(&mut poller, 1, Completion::Slot(0));
    assert_takes(&mut poller, 2, Completion::Slot(1));
    assert_prints(&mut poller, b"beside\n");
    assert_eq!((device.written(one), device.written(two)), (1, 1));
    assert_eq!((poller.poll(), device.consumed()), (Poll::Empty, 4));

    complete(&device.words(), 1);
    assert_eq!((poller.poll(), device.consumed()), (Poll::Empty, 4));
    complete(&device.words(), 0);
    assert_eq!(device.written(one), 0);
    assert_eq!((poller.poll(), device.consumed()), (Poll::Empty, 7));
}

#[test]
fn a_flush_skips_calls() {
    let (device, mut poller) = Device::new(0);
    device.call(1);
    device.send(LINE, b"text\0", &[0]);
    device.call(2);
    poller.begin_flush();
    assert_eq!(poller.poll_flush(false), Poll::Printed(b"text\n".to_vec()));
    assert_eq!(poller.poll_flush(false), Poll::Empty);
    assert_takes(&mut poller, 1, Completion::Signal(DeviceAddr(14)));
    assert_takes(&mut poller, 2, Completion::Signal(DeviceAddr(14)));
    assert_eq!(device.consumed(), 3);
}

#[test]
fn invalid_messages_are_skipped() {
    let (device, mut poller) = Device::new(0);
    for kind in [5, 1 << 31, u32::MAX] {
        device.send(kind, b"\0", &[0]);
        device.send(LINE, b"next\0", &[0]);
        match poller.poll() {
            Poll::ProtocolError(ProtocolError::MessageType { found, .. }) => {
                assert_eq!(found, kind)
            }
            other => panic!("{other:?}"),
        }
        assert_prints(&mut poller, b"next\n");
    }
    // The largest distance of `next_output` that is valid.
    let counter = offset_of!(GcnQueue, next_output);
    device.set32(counter, 6 + i32::MAX as u32);
    assert_eq!(poller.poll(), Poll::Empty);
    device.set32(counter, 5);
    match poller.poll() {
        Poll::ProtocolError(error) => assert_eq!(
            error.to_string(),
            "next_output is 5, but 6 messages have been consumed"
        ),
        other => panic!("{other:?}"),
    }
    assert_eq!(poller.poll(), Poll::Empty);
    poller.begin_flush();
    assert_eq!(poller.poll_flush(true), Poll::Empty);
}

#[test]
fn a_flush_reports_an_invalid_counter() {
    let (device, mut poller) = Device::new(6);
    device.set32(offset_of!(GcnQueue, next_output), 5);
    poller.begin_flush();
    let found = poller.poll_flush(false);
    assert!(
        matches!(
            found,
            Poll::ProtocolError(ProtocolError::Counter { found: 5, .. })
        ),
        "{found:?}"
    );
    assert_eq!(poller.poll_flush(false), Poll::Empty);
}
