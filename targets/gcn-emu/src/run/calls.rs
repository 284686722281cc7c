//! The functions that a wave is in, as far as counting calls needs it.
//!
//! Machine code has no frames. A jump that notes where it comes from is a call, and a jump back there is
//! the return from it.

/// How a wave has jumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Jump {
    /// A call, which returns to this address.
    Call(u64),
    /// A jump to an address in registers: a return, or a call in place of one.
    Indirect,
}

/// A function that a wave is in.
#[derive(Clone, Copy, Debug)]
struct Function {
    /// The address to which it returns; none for the kernel.
    back: Option<u64>,
    /// The number of the counted call that it is part of; 0 for none.
    call: u32,
}

/// The functions that a wave is in, the kernel first.
#[derive(Debug)]
pub(super) struct Calls {
    /// The function whose executions are counted; none if the code has no such function.
    entry: Option<u64>,
    functions: Vec<Function>,
    /// The number of counted calls so far.
    count: u32,
}

impl Calls {
    pub(super) fn new(entry: Option<u64>) -> Self {
        Self {
            entry,
            functions: vec![Function {
                back: None,
                call: 0,
            }],
            count: 0,
        }
    }

    /// The number of the counted call that the wave is in; 0 for none.
    pub(super) fn current(&self) -> u32 {
        self.functions.last().map_or(0, |function| function.call)
    }

    /// The kernel begins at an address. Returns whether it is counted itself.
    pub(super) fn begin(&mut self, at: u64) -> bool {
        self.enter(at)
    }

    /// Notes a jump. Returns whether a counted call has begun.
    pub(super) fn jump(&mut self, jump: Jump, to: u64) -> bool {
        match jump {
            Jump::Call(back) => {
                let call = self.current();
                self.functions.push(Function {
                    back: Some(back),
                    call,
                });
                self.enter(to)
            }
            Jump::Indirect => {
                let last = self.functions.last();
                if last.is_some_and(|function| function.back == Some(to)) {
                    self.functions.pop();
                    return false;
                }
                self.enter(to)
            }
        }
    }

    /// The last function continues at an address. Returns whether that is a counted call.
    fn enter(&mut self, at: u64) -> bool {
        let is_counted = self.entry == Some(at);
        if is_counted && let Some(function) = self.functions.last_mut() {
            self.count = self.count.wrapping_add(1).max(1);
            function.call = self.count;
        }
        is_counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_parts_of_the_counted_one_until_it_returns() {
        let mut calls = Calls::new(Some(0x1000));
        assert!(!calls.begin(0x100));
        assert!(!calls.jump(Jump::Call(0x104), 0x800));
        assert_eq!(calls.current(), 0);
        assert!(calls.jump(Jump::Call(0x804), 0x1000));
        assert_eq!(calls.current(), 1);
        assert!(!calls.jump(Jump::Call(0x1004), 0x2000));
        assert_eq!(calls.current(), 1);
        assert!(!calls.jump(Jump::Indirect, 0x1004));
        assert_eq!(calls.current(), 1);
        // A jump to somewhere else within it.
        assert!(!calls.jump(Jump::Indirect, 0x1100));
        assert_eq!(calls.current(), 1);
        assert!(!calls.jump(Jump::Indirect, 0x804));
        assert_eq!(calls.current(), 0);
        assert!(calls.jump(Jump::Call(0x808), 0x1000));
        assert_eq!(calls.current(), 2);
    }

    #[test]
    fn a_call_in_place_of_a_return_is_counted() {
        let mut calls = Calls::new(Some(0x1000));
        calls.jump(Jump::Call(0x104), 0x800);
        assert!(calls.jump(Jump::Indirect, 0x1000));
        assert_eq!(calls.current(), 1);
        calls.jump(Jump::Indirect, 0x104);
        assert_eq!(calls.current(), 0);
    }

    #[test]
    fn a_kernel_may_be_counted_itself() {
        let mut calls = Calls::new(Some(0x100));
        assert!(calls.begin(0x100));
        calls.jump(Jump::Call(0x104), 0x800);
        assert_eq!(calls.current(), 1);
    }
}
