//! The kernel of `revoff soak`.

use bench_calls::{MAX_WORDS, exchange, message};
use revoff_device::thread;

/// Exchanges `count` messages with the host, from the number `first` on, until a call fails. Thread `i` writes to
/// `ended[i]` how many were answered, and how many of the answers were wrong.
///
/// # Safety
/// `ended` has a pair for each thread.
#[revoff_device::kernel]
pub unsafe fn soak(first: u64, count: u64, ended: *mut [u64; 2]) {
    let thread = thread::global();
    let (mut answered, mut wrong) = (0, 0);
    let (mut sent, mut words) = ([0; MAX_WORDS], [0; MAX_WORDS]);
    for number in first..first + count {
        let sent = message(thread, number, &mut sent);
        let words = message(thread, number, &mut words);
        let Ok(answer) = exchange(thread, number, words) else {
            break;
        };
        answered += 1;
        let is_right = answer == number && words.iter().zip(sent).all(|(new, old)| *new == !*old);
        wrong += u64::from(!is_right);
    }
    // SAFETY: the launcher provides the memory, one pair for each thread.
    unsafe { ended.add(thread as usize).write([answered, wrong]) };
}
