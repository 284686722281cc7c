//! Host functions that take any arguments and pass them to a test.

use std::fmt::Write;

use revoff_fn::{Failure, HostFunction, RawArg};
use revoff_host::shared_abi::map_kind::MapKind;

/// An argument as the host function received it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// The address on the host, or the value.
    pub(crate) addr: usize,
    /// The size.
    pub(crate) size: u64,
    /// The kind.
    pub(crate) kind: MapKind,
    /// A copy of the bytes; the test's changes are written back.
    pub(crate) bytes: Vec<u8>,
}

type Body = dyn Fn(&mut [Seen]) -> Result<(), String> + Send + Sync;

/// A function that takes any arguments.
pub(crate) struct Probe {
    name: &'static str,
    signature: u64,
    body: Box<Body>,
}

impl Probe {
    pub(crate) fn new(
        name: &'static str,
        body: impl Fn(&mut [Seen]) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            signature: 0,
            body: Box::new(body),
        }
    }

    /// With the signature of some declaration.
    pub(crate) fn declared(mut self, signature: u64) -> Self {
        self.signature = signature;
        self
    }
}

impl HostFunction for Probe {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> u64 {
        self.signature
    }

    unsafe fn call(&self, args: &[RawArg], message: &mut dyn Write) -> Result<(), Failure> {
        let mut all: Vec<Seen> = args
            .iter()
            .map(|arg| Seen {
                addr: arg.ptr.addr(),
                size: arg.size,
                kind: arg.kind,
                bytes: if has_bytes(arg) {
                    // SAFETY: the caller promises that such an argument is readable; it is copied
                    // at once, so that no reference outlives a write below.
                    unsafe { std::slice::from_raw_parts(arg.ptr, arg.size as usize) }.to_vec()
                } else {
                    Vec::new()
                },
            })
            .collect();
        let before = all.clone();
        let result = (self.body)(&mut all);
        // Even after a failure: the runtime decides whether they are copied back.
        for ((arg, seen), before) in args.iter().zip(&all).zip(&before) {
            for (i, (new, old)) in seen.bytes.iter().zip(&before.bytes).enumerate() {
                if new != old {
                    assert!(arg.kind.writes_device(), "a test writes to {:?}", arg.kind);
                    // SAFETY: `i` is below the size, and the kind is one that may
                    // be written.
                    unsafe { arg.ptr.add(i).write(*new) };
                }
            }
        }
        result.map_err(|text| {
            let _ = message.write_str(&text);
            Failure::Function
        })
    }
}

fn has_bytes(arg: &RawArg) -> bool {
    arg.kind.base() != MapKind::FIRSTPRIVATE_INT.0 && arg.size > 0 && !arg.ptr.is_null()
}
