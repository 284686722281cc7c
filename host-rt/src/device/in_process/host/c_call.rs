//! Calls of C functions whose parameters are words, for a number of arguments known only at run
//! time.
//!
//! C cannot pass a variable number of arguments to an ordinary function, so there is a call for
//! each number.

/// Calls the function at `code` with the words at `words`.
///
/// # Safety
/// `code` is a C function that takes this call's number of 64-bit integers, and may be called with
/// these words; it does not unwind. `words` has this number of elements.
pub(super) type Call = unsafe fn(code: u64, words: *const u64);

/// The call with `count` words, if there is one.
pub(super) fn call_with(count: usize) -> Option<Call> {
    CALLS.get(count).copied()
}

/// Maximum words of a call: the number of parameters that every C compiler supports.
pub(super) const MAX_WORDS: usize = CALLS.len() - 1;

trait Words {
    /// See [`Call`].
    unsafe fn call(code: u64, words: *const u64);
}

macro_rules! word {
    ($index:literal) => {
        u64
    };
}

macro_rules! calls {
    ($($count:literal)*) => {
        const CALLS: [Call; [$($count),*].len()] = [$(<[u64; $count] as Words>::call),*];
        calls!(each [] $($count)*);
    };
    (each [$($before:literal)*]) => {};
    (each [$($before:literal)*] $count:literal $($rest:literal)*) => {
        impl Words for [u64; $count] {
            unsafe fn call(code: u64, _words: *const u64) {
                // SAFETY: the caller vouches for the function and its signature.
                let code = unsafe {
                    std::mem::transmute::<usize, unsafe extern "C" fn($(word!($before)),*)>(
                        code as usize,
                    )
                };
                // SAFETY: the caller vouches for the call, and for the words.
                unsafe { code($(*_words.add($before)),*) }
            }
        }
        calls!(each [$($before)* $count] $($rest)*);
    };
}

calls! {
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
    32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60
    61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89
    90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113
    114 115 116 117 118 119 120 121 122 123 124 125 126 127
}

#[cfg(test)]
mod tests {
    use super::*;

    static GOT: std::sync::Mutex<Vec<u64>> = std::sync::Mutex::new(Vec::new());

    unsafe extern "C" fn three(a: u64, b: u64, c: u64) {
        *GOT.lock().expect("one test") = vec![a, b, c];
    }

    #[test]
    fn each_word_goes_to_its_place() {
        let call = call_with(3).expect("few enough");
        // SAFETY: the function takes three.
        unsafe { call(three as *const () as u64, [7, 8, u64::MAX].as_ptr()) };
        assert_eq!(*GOT.lock().expect("one test"), [7, 8, u64::MAX]);
    }

    #[test]
    fn there_is_a_call_for_each_number() {
        assert_eq!(MAX_WORDS, 127);
        assert!((0..=MAX_WORDS).all(|count| call_with(count).is_some()));
        assert!(call_with(MAX_WORDS + 1).is_none());
    }
}
