//! A kernel that searches text and reports matches to its host.
#![no_std]
#![cfg_attr(
    any(target_arch = "nvptx64", target_arch = "amdgpu"),
    feature(abi_gpu_kernel)
)]

use revoff_device::thread;
use search_calls::{STOP, Search, Tally, found};

revoff_device::image!();

/// Each thread takes the lines that begin in its share of the text.
#[revoff_device::kernel(Search)]
pub fn search(text: &[u8], pattern: &[u8], tallies: *mut [Tally]) {
    let me = thread::global() as usize;
    let all = thread::teams() as usize * thread::threads() as usize;
    let share = |thread: usize| text.len() / all * thread + thread.min(text.len() % all);

    let mut tally = Tally::default();
    let mut start = share(me);
    if start > 0 && text[start - 1] != b'\n' {
        start = line_end(text, start) + 1;
    }
    while start < share(me + 1) {
        let end = line_end(text, start);
        tally.lines += 1;
        if contains(&text[start..end], pattern) {
            tally.matches += 1;
            if !matches!(found(start as u64, end as u64), Ok(answer) if answer != STOP) {
                break;
            }
        }
        start = end + 1;
    }
    if me < tallies.len() {
        // SAFETY: it lies in the slice, which is valid while the kernel runs, and only this thread
        // uses it.
        unsafe { *tallies.cast::<Tally>().add(me) = tally };
    }
}

/// The end of the line at `at`.
fn line_end(text: &[u8], mut at: usize) -> usize {
    while at < text.len() && text[at] != b'\n' {
        at += 1;
    }
    at
}

fn contains(line: &[u8], pattern: &[u8]) -> bool {
    let Some(last) = line.len().checked_sub(pattern.len()) else {
        return false;
    };
    (0..=last).any(|at| line[at..].starts_with(pattern))
}
