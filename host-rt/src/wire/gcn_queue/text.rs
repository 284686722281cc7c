//! The text of a message, in the format of GCC's plugin.

use core::mem::offset_of;

use shared_abi::wire::gcn_queue::{GcnMessage as Message, TEXT};
use shared_abi::words::{Load, SystemWords};

use crate::base::number;

/// `%.128s%ld\n`.
pub(super) fn integer(system: &impl SystemWords, message: usize, value: i64) -> Vec<u8> {
    let mut text = label(system, message);
    text.extend(number::integer_line(value).into_bytes());
    text
}

/// `%.128s%f\n`.
pub(super) fn double(system: &impl SystemWords, message: usize, value: f64) -> Vec<u8> {
    let mut text = label(system, message);
    text.extend(number::double_line(value).into_bytes());
    text
}

/// `%.128s%.128s\n`.
pub(super) fn line(system: &impl SystemWords, message: usize) -> Vec<u8> {
    let mut text = raw(system, message);
    text.push(b'\n');
    text
}

/// `%.128s%.128s`.
pub(super) fn raw(system: &impl SystemWords, message: usize) -> Vec<u8> {
    let mut text = label(system, message);
    let value = message + offset_of!(Message, value);
    // Relaxed, here and below: Q1 orders it.
    let word = |at: usize| system.load64(value + at, Load::Relaxed).to_le_bytes();
    extend(&mut text, (0..TEXT).step_by(8).map(word));
    text
}

fn label(system: &impl SystemWords, message: usize) -> Vec<u8> {
    let mut text = Vec::new();
    let label = message + offset_of!(Message, label);
    let word = |at: usize| system.load32(label + at, Load::Relaxed).to_le_bytes();
    extend(&mut text, (0..TEXT).step_by(4).map(word));
    text
}

/// Adds the bytes before the first 0, and reads no word after it.
fn extend<const N: usize>(text: &mut Vec<u8>, words: impl Iterator<Item = [u8; N]>) {
    text.extend(words.flatten().take_while(|&byte| byte != 0));
}
