//! Call stack of a wave, as far as counting calls needs it.
//!
//! Machine code has no frames. A jump that notes where it comes from is a call, and a jump back there is
//! the return from it.

/// Kind of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Jump {
    /// A call, which returns to this address.
    Call(u64),
    /// A jump to an address in registers: a return, or a call in place of one.
    Indirect,
}

/// Frame of a function that a wave executes.
#[derive(Clone, Copy, Debug)]
struct Function {
    /// Return address; none for the kernel.
    back: Option<u64>,
    /// Number of the counted call that contains the frame; 0 for none.
    call: u32,
}

/// Call stack of a wave, the kernel first.
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

    /// Number of the counted call that the wave executes; 0 for none.
    pub(super) fn current(&self) -> u32 {
        self.functions.last().map_or(0, |function| function.call)
    }

    /// Enters the kernel at an address. Returns whether the kernel itself is counted.
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

    /// Continues the last function at an address. Returns whether that begins a counted call.
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
