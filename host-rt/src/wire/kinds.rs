//! The kinds of wires, and how each is made.

use std::sync::Arc;

use shared_abi::wire::WireKind;

use super::gcn_queue::GcnQueue;
use super::memory::{Wire, WireConfig};
use super::request::{Request, RequestWords};
use super::{DeviceAccess, Poll, PollWire, gcc_ring, gcc_slot, native};
use crate::device::MappedMemory;

/// How a wire is made.
pub(crate) struct Kind {
    pub(crate) kind: WireKind,
    /// Bytes of mapped memory that it needs.
    pub(crate) bytes: fn(&WireConfig) -> usize,
    /// Makes it in that memory, which is zeroed.
    pub(crate) attach: fn(MappedMemory, &WireConfig, &DeviceAccess) -> WireParts,
}

/// The wires that this host serves.
pub(crate) const KINDS: [Kind; 4] = [
    Kind {
        kind: WireKind::NATIVE,
        bytes: native::bytes,
        attach: |memory, config, access| {
            let (wire, poller) = native::attach(memory, config, access);
            WireParts::new(Arc::new(wire), poller)
        },
    },
    Kind {
        kind: WireKind::GCC_RING,
        bytes: |_| gcc_ring::BYTES,
        attach: |memory, config, access| {
            let (wire, poller) = gcc_ring::attach(memory, config, access);
            WireParts::new(Arc::new(wire), poller)
        },
    },
    Kind {
        kind: WireKind::GCN_QUEUE,
        bytes: |_| GcnQueue::BYTES,
        attach: |memory, config, access| {
            let (queue, poller) = GcnQueue::new(memory, config.initial_seq, access);
            WireParts::new(Arc::clone(queue.wire()), poller)
        },
    },
    Kind {
        kind: WireKind::GCC_SLOT,
        bytes: |_| gcc_slot::BYTES,
        attach: |memory, _config, access| {
            let (wire, poller) = gcc_slot::attach(memory, access);
            WireParts::new(Arc::new(wire), poller)
        },
    },
];

/// The poller of a wire that is served.
pub(crate) type RequestPoller = dyn PollWire<Request = Request>;

/// A wire, and its poller, which one thread at a time has.
pub(crate) struct WireParts {
    pub(crate) wire: Arc<Wire>,
    pub(crate) poller: Box<RequestPoller>,
}

impl WireParts {
    /// The wire, with a poller of its words.
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

/// Makes owned requests of their words.
struct OwningPoller<P> {
    poller: P,
    /// Keeps the words that `poller` reads.
    wire: Arc<Wire>,
}

impl<P: PollWire<Request: Into<RequestWords>>> OwningPoller<P> {
    #[inline]
    fn own(&self, found: Poll<P::Request>) -> Poll<Request> {
        found.map(|words| Request::new(&self.wire, words.into()))
    }
}

impl<P: PollWire<Request: Into<RequestWords>>> PollWire for OwningPoller<P> {
    type Request = Request;

    fn poll(&mut self) -> Poll<Request> {
        let found = self.poller.poll();
        self.own(found)
    }

    fn poll_all(&mut self) -> Poll<Request> {
        let found = self.poller.poll_all();
        self.own(found)
    }

    fn poll_text(&mut self) -> Poll<Request> {
        let found = self.poller.poll_text();
        self.own(found)
    }

    fn poll_requests(&mut self) -> Poll<Request> {
        let found = self.poller.poll_requests();
        self.own(found)
    }
}
