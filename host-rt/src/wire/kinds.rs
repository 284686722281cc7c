//! The table of wire kinds.

use std::sync::Arc;

use shared_abi::wire::WireKind;

use super::gcn_queue::GcnQueue;
use super::memory::{Wire, WireConfig};
use super::request::{Request, RequestWords};
use super::{DeviceAccess, Poll, PollWire, gcc_ring, gcc_slot, native};
use crate::base::debug_as_display;
use crate::device::MappedMemory;

/// One entry of the table.
pub(crate) struct WireEntry {
    pub(crate) kind: WireKind,
    /// Size of a wire in mapped memory, in bytes.
    pub(crate) bytes: fn(&WireConfig) -> usize,
    /// Creates a wire in zeroed memory of that size.
    pub(crate) attach: fn(MappedMemory, &WireConfig, &DeviceAccess) -> WireParts,
}

/// The wires that this host serves.
pub(crate) const KINDS: [WireEntry; 4] = [
    WireEntry {
        kind: WireKind::NATIVE,
        bytes: native::bytes,
        attach: |memory, config, access| {
            // SAFETY: `WireParts` keeps the wire beside the poller.
            let (wire, poller) = unsafe { native::attach(memory, config, access) };
            WireParts::new(Arc::new(wire), poller)
        },
    },
    WireEntry {
        kind: WireKind::GCC_RING,
        bytes: |_| gcc_ring::BYTES,
        attach: |memory, config, access| {
            // SAFETY: `WireParts` keeps the wire beside the poller.
            let (wire, poller) = unsafe { gcc_ring::attach(memory, config, access) };
            WireParts::new(Arc::new(wire), poller)
        },
    },
    WireEntry {
        kind: WireKind::GCN_QUEUE,
        bytes: |_| GcnQueue::BYTES,
        attach: |memory, config, access| {
            // SAFETY: `WireParts` keeps the wire beside the poller.
            let (queue, poller) = unsafe { GcnQueue::new(memory, config.initial_seq, access) };
            WireParts::new(Arc::clone(queue.wire()), poller)
        },
    },
    WireEntry {
        kind: WireKind::GCC_SLOT,
        bytes: |_| gcc_slot::BYTES,
        attach: |memory, _config, access| {
            // SAFETY: `WireParts` keeps the wire beside the poller.
            let (wire, poller) = unsafe { gcc_slot::attach(memory, access) };
            WireParts::new(Arc::new(wire), poller)
        },
    },
];

/// No wire has the given name.
#[derive(thiserror::Error)]
#[error("there is no wire `{name}`: use {}", names())]
pub struct NoSuchWire {
    /// The name that was given.
    pub name: String,
}

debug_as_display!(NoSuchWire);

/// The names of the wires, for messages.
fn names() -> String {
    let names: Vec<_> = KINDS.iter().filter_map(|known| known.kind.name()).collect();
    match names.split_last() {
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => unreachable!("there are wires"),
    }
}

/// The wire called `name`.
///
/// # Errors
/// No wire has that name.
pub fn wire_by_name(name: &str) -> Result<WireKind, NoSuchWire> {
    let mut kinds = KINDS.iter().map(|known| known.kind);
    kinds
        .find(|kind| kind.name() == Some(name))
        .ok_or_else(|| NoSuchWire {
            name: name.to_owned(),
        })
}

/// A poller that yields owned requests.
pub(crate) type RequestPoller = dyn PollWire<Request = Request>;

/// A wire and its poller. One thread at a time uses the poller.
pub(crate) struct WireParts {
    pub(crate) wire: Arc<Wire>,
    pub(crate) poller: Box<RequestPoller>,
}

impl WireParts {
    /// The parts of `wire`, whose words `poller` reads.
    pub(crate) fn new<P>(wire: Arc<Wire>, poller: P) -> Self
    where
        P: PollWire<Request: Into<RequestWords>> + 'static,
    {
        let poller = Box::new(OwningPoller {
            poller,
            wire: Arc::clone(&wire),
        });
        Self { wire, poller }
    }
}

/// Turns the words of requests into owned requests.
struct OwningPoller<P> {
    poller: P,
    /// Keeps the memory that `poller` reads alive.
    wire: Arc<Wire>,
}

impl<P: PollWire<Request: Into<RequestWords>>> OwningPoller<P> {
    #[inline]
    fn to_request(&self, found: Poll<P::Request>) -> Poll<Request> {
        found.map(|words| Request::new(&self.wire, words.into()))
    }
}

impl<P: PollWire<Request: Into<RequestWords>>> PollWire for OwningPoller<P> {
    type Request = Request;

    fn poll(&mut self) -> Poll<Request> {
        let found = self.poller.poll();
        self.to_request(found)
    }

    fn poll_all(&mut self) -> Poll<Request> {
        let found = self.poller.poll_all();
        self.to_request(found)
    }

    fn has_ready(&self) -> bool {
        self.poller.has_ready()
    }

    fn begin_flush(&mut self) {
        self.poller.begin_flush();
    }

    fn poll_flush(&mut self, skips_unwritten: bool) -> Poll<Request> {
        let found = self.poller.poll_flush(skips_unwritten);
        self.to_request(found)
    }

    fn poll_requests(&mut self) -> Poll<Request> {
        let found = self.poller.poll_requests();
        self.to_request(found)
    }
}
