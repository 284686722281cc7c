//! Kernels that call each function of MPI. One that finds a wrong result traps.
#![no_std]
#![cfg_attr(
    any(target_arch = "nvptx64", target_arch = "amdgpu"),
    feature(abi_gpu_kernel)
)]

use mpi_calls::{
    ANY, Neighbor, Operation, allreduce, barrier, broadcast, exchange, irecv, isend, mpi_irecv,
    mpi_wait, rank, recv, reduce, send, sendrecv, size,
};
use revoff_device::thread;
use revoff_fn::zerocopy::IntoBytes;

revoff_device::image!();

/// Rank 0 gets a message from each other, in any order, and answers.
#[revoff_device::kernel]
pub fn messages() {
    let (me, ranks) = (rank().unwrap(), size().unwrap());
    if me > 0 {
        send(0, me, &[f64::from(me) / 4.0; 3]).unwrap();
        let mut answer = [0u16; 5];
        let received = recv(0, ANY, &mut answer).unwrap();
        assert_eq!((received.from, received.tag, received.bytes), (0, 7, 4));
        // The rest stays as it is.
        assert_eq!(answer, [me as u16, 9, 0, 0, 0]);
        return;
    }
    let mut heard = 0;
    for _ in 1..ranks {
        let mut text = [0.0; 3];
        let received = recv(ANY, ANY, &mut text).unwrap();
        assert_eq!((received.from, received.bytes), (received.tag, 24));
        assert_eq!(text, [f64::from(received.from) / 4.0; 3]);
        heard |= 1 << received.from;
        send(received.from, 7, &[received.from as u16, 9]).unwrap();
    }
    assert_eq!(heard, (1 << ranks) - 2);
}

/// Each sends to the next, without waiting, and long messages.
#[revoff_device::kernel]
pub unsafe fn requests(memory: *mut u64, count: u64) {
    let count = count as usize;
    // SAFETY: the launcher provides twice as many words.
    let (out, come) = unsafe {
        (
            core::slice::from_raw_parts_mut(memory, count),
            core::slice::from_raw_parts_mut(memory.add(count), count),
        )
    };
    let (me, ranks) = (rank().unwrap(), size().unwrap());
    for (i, word) in out.iter_mut().enumerate() {
        *word = u64::from(me) << 32 | i as u64;
    }
    let previous = (me + ranks - 1) % ranks;
    let receiving = irecv(previous, 1, come).unwrap();
    let sending = isend((me + 1) % ranks, 1, out).unwrap();
    // It has been copied.
    out.fill(0);
    let received = receiving.wait().unwrap();
    sending.wait().unwrap();
    assert_eq!(received.bytes, 8 * count as u64);
    for (i, word) in come.iter().enumerate() {
        assert_eq!(*word, u64::from(previous) << 32 | i as u64);
    }
}

/// Long messages between two ranks, in `2 * count` words of memory.
#[revoff_device::kernel]
pub unsafe fn long_messages(memory: *mut u64, count: u64) {
    const UNCHANGED: u64 = 7;
    let count = count as usize;
    // SAFETY: the launcher provides twice as many words.
    let (data, come) = unsafe {
        (
            core::slice::from_raw_parts_mut(memory, count),
            core::slice::from_raw_parts_mut(memory.add(count), count),
        )
    };
    let me = rank().unwrap();
    let other = 1 - me;
    for (i, word) in data.iter_mut().enumerate() {
        *word = u64::from(me) << 32 | i as u64;
    }
    come.fill(UNCHANGED);
    // It is shorter than the place for it.
    let part = &data[..count - 1000];
    if me == 0 {
        send(other, 1, part).unwrap();
    }
    let received = recv(other, 1, come).unwrap();
    if me == 1 {
        send(other, 1, part).unwrap();
    }
    assert_eq!((received.from, received.tag), (other, 1));
    assert_eq!(received.bytes, 8 * part.len() as u64);
    for (i, word) in come.iter().enumerate() {
        let sent = u64::from(other) << 32 | i as u64;
        let is_part = i < part.len();
        assert_eq!(*word, if is_part { sent } else { UNCHANGED });
    }
    // A place for a long message that gets a short one, which arrives in memory of the thread.
    let request = mpi_irecv(other, 2, 8 * count as u64).unwrap();
    send(other, 2, &[me]).unwrap();
    let mut short = [0u8; 4];
    let received = mpi_wait(request, &mut short).unwrap();
    assert_eq!((received.bytes, u32::from_le_bytes(short)), (4, other));
}

/// Receives less than was sent, of long messages, in `2 * count` words of memory.
#[revoff_device::kernel]
pub unsafe fn long_too_long(memory: *mut u64, count: u64) {
    const UNCHANGED: u64 = 7;
    let count = count as usize;
    // SAFETY: the launcher provides twice as many words.
    let (data, come) = unsafe {
        (
            core::slice::from_raw_parts_mut(memory, count),
            core::slice::from_raw_parts_mut(memory.add(count), count),
        )
    };
    let me = rank().unwrap();
    // Begun with as much, but waited for with less.
    let request = mpi_irecv(me, 2, 8 * count as u64).unwrap();
    let sending = isend(me, 2, data).unwrap();
    let short = &mut come[..count - 1];
    assert!(mpi_wait(request, short.as_mut_bytes()).is_err());
    sending.wait().unwrap();
    come.fill(UNCHANGED);
    let sending = isend(me, 3, data).unwrap();
    assert!(recv(me, 3, &mut come[..count / 2]).is_err());
    // It has left, though nobody has got it.
    sending.wait().unwrap();
    assert!(come.iter().all(|&word| word == UNCHANGED));
    // The next one is another.
    let sending = isend(me, 3, &[5u64]).unwrap();
    let received = recv(me, ANY, come).unwrap();
    sending.wait().unwrap();
    assert_eq!((received.bytes, come[0], come[1]), (8, 5, UNCHANGED));
}

/// A place for a short message, which arrives at a long one, in `2 * count` words of memory.
#[revoff_device::kernel]
pub unsafe fn long_place(memory: *mut u64, count: u64) {
    const UNCHANGED: u64 = 7;
    // SAFETY: the launcher provides twice as many words.
    let come = unsafe { core::slice::from_raw_parts_mut(memory, count as usize) };
    come.fill(UNCHANGED);
    let me = rank().unwrap();
    let request = mpi_irecv(me, 3, 8).unwrap();
    let sending = isend(me, 3, &[5u64]).unwrap();
    let received = mpi_wait(request, come.as_mut_bytes()).unwrap();
    sending.wait().unwrap();
    assert_eq!((received.bytes, come[0]), (8, 5));
    for word in &come[1..] {
        assert_eq!(*word, UNCHANGED);
    }
}

/// Waits for a long message that nobody sends.
#[revoff_device::kernel]
pub unsafe fn long_never(memory: *mut u64, count: u64) {
    // SAFETY: the launcher provides twice as many words.
    let come = unsafe { core::slice::from_raw_parts_mut(memory, count as usize) };
    let _ = recv(ANY, 5, come);
}

/// Sends a long message that nobody receives.
#[revoff_device::kernel]
pub unsafe fn long_send_never(memory: *mut u64, count: u64) {
    // SAFETY: the launcher provides twice as many words.
    let data = unsafe { core::slice::from_raw_parts(memory, count as usize) };
    let _ = send(rank().unwrap(), 6, data);
}

/// Receives what `long_send_never` has sent.
#[revoff_device::kernel]
pub unsafe fn long_take(memory: *mut u64, count: u64) {
    // SAFETY: the launcher provides twice as many words.
    let come = unsafe { core::slice::from_raw_parts_mut(memory, count as usize) };
    let received = recv(ANY, 6, come).unwrap();
    assert_eq!(received.bytes, 8 * count);
}

/// Receives that were begun before they are waited for get their messages while the rank does other things, in `2 * count`
/// words of memory.
#[revoff_device::kernel]
pub unsafe fn long_meanwhile(memory: *mut u64, count: u64) {
    let count = count as usize;
    // SAFETY: the launcher provides twice as many words.
    let (data, come) = unsafe {
        (
            core::slice::from_raw_parts_mut(memory, count),
            core::slice::from_raw_parts_mut(memory.add(count), count),
        )
    };
    let me = rank().unwrap();
    let other = 1 - me;
    data.fill(u64::from(me) + 3);
    // Each sends before it waits for a message. MPI copies no long messages before they are received.
    let receiving = irecv(other, 1, come).unwrap();
    send(other, 1, data).unwrap();
    receiving.wait().unwrap();
    assert!(come.iter().all(|&word| word == u64::from(other) + 3));
    // One waits for the other, which sends first.
    if me == 0 {
        let receiving = irecv(other, 2, come).unwrap();
        barrier().unwrap();
        receiving.wait().unwrap();
    } else {
        send(other, 2, data).unwrap();
        barrier().unwrap();
    }
}

/// Messages get to receives in the order of both.
#[revoff_device::kernel]
pub fn matching() {
    let me = rank().unwrap();
    let begin = |tag| mpi_irecv(me, tag, 4).unwrap();
    let post = |tag, value: u32| isend(me, tag, &[value]).unwrap().wait().unwrap();
    let wait = |request| {
        let mut come = [0u32];
        let received = mpi_wait(request, come.as_mut_bytes()).unwrap();
        assert_eq!((received.from, received.bytes), (me, 4));
        (received.tag, come[0])
    };
    // The first that accepts a message gets it, also if the other is waited for first.
    let (any, five) = (begin(ANY), begin(5));
    post(5, 1);
    post(5, 2);
    assert_eq!((wait(five), wait(any)), ((5, 2), (5, 1)));
    let (five, any) = (begin(5), begin(ANY));
    post(6, 3);
    post(5, 4);
    assert_eq!((wait(five), wait(any)), ((5, 4), (6, 3)));
    // Messages that come before their receives, in the order in which they came.
    for (tag, value) in [(5, 5), (6, 6), (5, 7), (7, 8)] {
        post(tag, value);
    }
    assert_eq!(wait(begin(6)), (6, 6));
    assert_eq!(wait(begin(ANY)), (5, 5));
    let (seven, any) = (begin(7), begin(ANY));
    assert_eq!((wait(any), wait(seven)), ((5, 7), (7, 8)));
    // From any rank, too.
    let request = mpi_irecv(ANY, 5, 4).unwrap();
    post(6, 9);
    post(5, 10);
    assert_eq!((wait(request), wait(begin(6))), ((5, 10), (6, 9)));
}

/// All ranks together, one thread of each.
#[revoff_device::kernel]
pub fn together() {
    let (me, ranks) = (rank().unwrap(), size().unwrap());
    barrier().unwrap();
    let mut text = if me == 1 { *b"from one" } else { [0; 8] };
    broadcast(1, &mut text).unwrap();
    assert_eq!(&text, b"from one");

    let sum = ranks * (ranks - 1) / 2;
    let mut values = [me, 1];
    allreduce(Operation::SUM, &mut values).unwrap();
    assert_eq!(values, [sum, ranks]);
    let mut value = [-f64::from(me)];
    allreduce(Operation::MIN, &mut value).unwrap();
    assert_eq!(value, [-f64::from(ranks - 1)]);
    let mut value = [f32::from(me as u8)];
    allreduce(Operation::MAX, &mut value).unwrap();
    assert_eq!(value, [(ranks - 1) as f32]);
    let mut value = [1u8 << me];
    allreduce(Operation::OR, &mut value).unwrap();
    assert_eq!(value, [(1 << ranks) - 1]);

    let mut value = [i64::from(me) + 1];
    reduce(2, Operation::PRODUCT, &mut value).unwrap();
    let product = (1..=i64::from(ranks)).product();
    assert_eq!(value, [if me == 2 { product } else { i64::from(me) + 1 }]);
}

/// Each thread talks to the thread of its number on the next rank.
#[revoff_device::kernel]
pub fn threads() {
    let (me, ranks, tag) = (rank().unwrap(), size().unwrap(), thread::global());
    let sending = isend((me + 1) % ranks, tag, &[tag, me]).unwrap();
    let mut come = [0; 2];
    let previous = (me + ranks - 1) % ranks;
    recv(previous, tag, &mut come).unwrap();
    sending.wait().unwrap();
    assert_eq!(come, [tag, previous]);
    // And back.
    let mut own = [0; 2];
    let received = sendrecv(previous, &come, (me + 1) % ranks, &mut own, tag).unwrap();
    assert_eq!((own, received.tag, received.bytes), ([tag, me], tag, 8));
    // Both ways at once, with tags of their own.
    let tags = [100 + 2 * tag, 101 + 2 * tag];
    let (mut before, mut after, next) = ([0; 2], [0; 2], (me + 1) % ranks);
    let left = Neighbor {
        rank: previous,
        tag: tags[0],
        send: &[me, 0],
        receive: &mut before,
    };
    let right = Neighbor {
        rank: next,
        tag: tags[1],
        send: &[me, 1],
        receive: &mut after,
    };
    exchange(left, right).unwrap();
    assert_eq!((before, after), ([previous, 1], [next, 0]));
}

/// Receives less than was sent.
#[revoff_device::kernel]
pub fn too_long() {
    let me = rank().unwrap();
    let sending = isend(me, 3, &[1u8; 100]).unwrap();
    assert!(recv(me, 3, &mut [0u8; 80]).is_err());
    let _ = sending.wait();
}

/// Receives much less than was sent, by each function that receives.
#[revoff_device::kernel]
pub fn much_too_long() {
    static DATA: [u8; 1 << 20] = [0; 1 << 20];
    let me = rank().unwrap();
    let mut place = [7u8; 8];
    for len in [1000, 10_000, 100_000, DATA.len()] {
        let data = &DATA[..len];
        let sending = isend(me, 1, data).unwrap();
        assert!(recv(me, 1, &mut place).is_err());
        sending.wait().unwrap();
        let receiving = mpi_irecv(me, 2, 8).unwrap();
        let sending = isend(me, 2, data).unwrap();
        assert!(mpi_wait(receiving, &mut place).is_err());
        sending.wait().unwrap();
        assert!(sendrecv(me, data, me, &mut place, 3).is_err());
        let mut other = place;
        let before = Neighbor {
            rank: me,
            tag: 4,
            send: data,
            receive: &mut place,
        };
        let after = Neighbor {
            rank: me,
            tag: 5,
            send: data,
            receive: &mut other,
        };
        assert!(exchange(before, after).is_err());
        assert_eq!((place, other), ([7; 8], [7; 8]));
    }
    let sending = isend(me, 6, &[1u8]).unwrap();
    recv(me, 6, &mut place).unwrap();
    sending.wait().unwrap();
    assert_eq!(place, [1, 7, 7, 7, 7, 7, 7, 7]);
}

/// Ranks that do not do the same together.
#[revoff_device::kernel]
pub fn disagree() {
    let me = rank().unwrap();
    let mut place = [7u8; 8];
    for _ in 0..3 {
        if me == 0 {
            // Rank 1 has less room.
            assert!(broadcast(0, &mut [1u8; 10_000]).is_err());
            assert!(barrier().is_err());
            assert!(broadcast(0, &mut place).is_err());
            assert!(allreduce(Operation::SUM, &mut place).is_err());
            assert!(reduce(0, Operation::SUM, &mut [1u8; 16]).is_err());
        } else {
            assert!(broadcast(0, &mut place).is_err());
            assert!(allreduce(Operation::SUM, &mut [1u8; 10_000]).is_err());
            assert!(broadcast(1, &mut place).is_err());
            assert!(allreduce(Operation::MAX, &mut place).is_err());
            assert!(reduce(0, Operation::SUM, &mut place).is_err());
        }
        assert_eq!(place, [7; 8]);
    }
    let mut value = [me];
    allreduce(Operation::SUM, &mut value).unwrap();
    assert_eq!(value, [1]);
}

/// Calls that make no sense.
#[revoff_device::kernel]
pub fn nonsense() {
    assert!(send(1000, 0, &[0u8]).is_err());
    assert!(send(ANY, 0, &[0u8]).is_err());
    assert!(recv(1000, 0, &mut [0u8]).is_err());
    let me = rank().unwrap();
    assert!(send(me, ANY, &[0u8]).is_err());
    assert!(recv(me, ANY - 1, &mut [0u8]).is_err());
    assert!(broadcast(1000, &mut [0u8]).is_err());
    assert!(reduce(1000, Operation::SUM, &mut [0u8]).is_err());
    // Nothing is received if nothing can be sent, even if it has come: before the next message, which has.
    let sending = [isend(me, 5, &[7u8]).unwrap(), isend(me, 6, &[8u8]).unwrap()];
    let mut came = [0u8];
    recv(me, 6, &mut came).unwrap();
    assert!(sendrecv(1000, &[0u8], me, &mut came, 5).is_err());
    recv(me, 5, &mut came).unwrap();
    assert_eq!(came, [7]);
    sending
        .into_iter()
        .for_each(|sending| sending.wait().unwrap());
    assert!(allreduce(Operation::XOR, &mut [1.0f32]).is_err());
    assert!(allreduce(Operation(99), &mut [1u32]).is_err());
    assert!(mpi_wait(12345, &mut []).is_err());
}

/// Begins to receive more than there may be.
#[revoff_device::kernel]
pub fn hoard() {
    const GIB: u64 = 1 << 30;
    let me = rank().unwrap();
    for _ in 0..3 {
        mpi_irecv(me, 1, GIB).unwrap();
    }
    // The same memory again and again.
    for _ in 0..5 {
        assert!(mpi_irecv(me, 1, GIB).is_err());
        let sending = isend(me, 2, &[7u8]).unwrap();
        recv(me, 2, &mut [0u8]).unwrap();
        sending.wait().unwrap();
    }
}

/// Begins to receive more than there may be while other threads wait.
#[revoff_device::kernel]
pub fn hoard_waiting() {
    const GIB: u64 = 1 << 30;
    const WAITERS: u32 = 3;
    const READY: u32 = 100;
    const DONE: u32 = 101;
    const MORE: u32 = 102;
    let (me, thread) = (rank().unwrap(), thread::global());
    if thread < WAITERS {
        let request = mpi_irecv(me, thread, GIB).unwrap();
        send(me, READY, &[0u8]).unwrap();
        mpi_wait(request, &mut []).unwrap();
        send(me, DONE, &[0u8]).unwrap();
        return;
    }
    for _ in 0..WAITERS {
        recv(me, READY, &mut [0u8]).unwrap();
    }
    // They begin to wait at any time.
    for _ in 0..5 {
        assert!(mpi_irecv(me, MORE, GIB).is_err());
    }
    for waiter in 0..WAITERS {
        send::<u8>(me, waiter, &[]).unwrap();
    }
    for _ in 0..WAITERS {
        recv(me, DONE, &mut [0u8]).unwrap();
    }
    mpi_irecv(me, MORE, GIB).unwrap();
}

/// One rank of several sends to one that does not exist.
#[revoff_device::kernel]
pub fn nonsense_of_one() {
    if rank().unwrap() == 1 {
        assert!(send(1000, 0, &[0u8]).is_err());
    }
}

/// Leaves a message that nobody receives, of `count` words at `memory`.
#[revoff_device::kernel]
pub unsafe fn huge_unreceived(memory: *const u64, count: u64) {
    // SAFETY: the launcher provides these words.
    let words = unsafe { core::slice::from_raw_parts(memory, count as usize) };
    let _unreceived = isend(rank().unwrap(), 1, words).unwrap();
}

/// Leaves messages that nobody receives, or waits for.
#[revoff_device::kernel]
pub fn unreceived() {
    // More than any MPI sends before its receiver has agreed.
    static LONG: [u64; 1 << 14] = [0; 1 << 14];
    let (me, ranks) = (rank().unwrap(), size().unwrap());
    let (previous, next) = ((me + ranks - 1) % ranks, (me + 1) % ranks);
    let _noticed = isend(next, 1, &LONG).unwrap();
    let _received = isend(next, 2, &LONG).unwrap();
    mpi_irecv(previous, 2, size_of_val(&LONG) as u64).unwrap();
    sendrecv(next, &[0u8], previous, &mut [0u8], 3).unwrap();
    let _unnoticed = isend(next, 4, &LONG).unwrap();
    // Collective functions work with these under way.
    barrier().unwrap();
}

/// Rank 0 waits for the others at a barrier, to which they do not come.
#[revoff_device::kernel]
pub fn alone_never() {
    if rank().unwrap() == 0 {
        let _ = barrier();
    }
}

/// Broadcasts a long message. The launcher has rank 0 come when the others have given it up.
#[revoff_device::kernel]
pub fn late_never() {
    static mut LONG: [u64; 1 << 14] = [0; 1 << 14];
    let long = &raw mut LONG;
    // SAFETY: one thread runs this kernel, once.
    let data = unsafe { &mut *long };
    let _ = broadcast(0, data);
}

/// Calls a collective function until one fails, such as by the end of MPI.
#[revoff_device::kernel]
pub fn until_the_end() {
    while allreduce(Operation::SUM, &mut [1u32; 100]).is_ok() {}
}

/// Waits for a message that nobody sends.
#[revoff_device::kernel]
pub fn never() {
    let _ = recv(ANY, 5, &mut [0u8]);
}
