//! A sequence of calls, and what it has made.

use std::collections::HashMap;
use std::ptr::null_mut;

use super::Gpus;
use super::driver::{cu, works};
use crate::host_memory::{self, HOST_MEMORY};
use crate::input::Operands;
use crate::objects::{Object, Objects};

/// The kind of object that a handle or an address names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Context,
    Primary,
    Stream,
    Event,
    Module,
    Function,
    Global,
    Library,
    Kernel,
    Linker,
    Pool,
    Block,
    /// Memory that was allocated in a stream's order.
    AsyncBlock,
    Pinned,
    Managed,
    Registered,
}

/// Memory.
pub(super) const MEMORY: [Kind; 6] = [
    Kind::Block,
    Kind::AsyncBlock,
    Kind::Pinned,
    Kind::Managed,
    Kind::Registered,
    Kind::Global,
];

/// Objects that count as leaked if their context is destroyed before them.
const COUNTED: [Kind; 9] = [
    Kind::Block,
    Kind::AsyncBlock,
    Kind::Pinned,
    Kind::Managed,
    Kind::Registered,
    Kind::Stream,
    Kind::Event,
    Kind::Module,
    Kind::Linker,
];

/// Numbers that are no handles or addresses of a sequence, but default streams.
const STRANGE: [u64; 8] = [
    0,
    1,
    2,
    u64::MAX,
    0x1000_0800_0000_0000,
    0x5afe_0000_0000_0000,
    0xdead_0000,
    0x1fff_ffff_ffff_ff00,
];

/// Words that streams of a context wait for, and a stream that ends their waits: each wait has a word of its own,
/// which nothing else writes, so that no wait lasts for ever.
pub(super) struct Waits {
    pub(super) words: u64,
    pub(super) releaser: u64,
    pub(super) next: u64,
}

/// Waits of a context.
pub(super) const MAX_WAITS: u64 = 512;

/// A sequence of calls.
pub(super) struct Sequence<'a> {
    pub(super) gpus: &'a Gpus,
    pub(super) objects: Objects<Kind>,
    /// By context.
    pub(super) waits: HashMap<u64, Waits>,
    /// How often each primary context was retained.
    pub(super) retained: [u32; 2],
    /// A linked image, and its linker.
    pub(super) linked: Option<(u64, u64)>,
}

impl<'a> Sequence<'a> {
    /// Begins one, with a context that is current.
    pub(super) fn new(gpus: &'a Gpus) -> Self {
        let strange = STRANGE.into_iter().chain(gpus.pools);
        let strange = strange.chain(gpus.bystander.handles());
        let mut context = 0;
        works(cu!(cuCtxCreate_v2(&raw mut context => *mut u64, 0 => u32, gpus.own[0] => i32)));
        let mut objects = Objects::new(strange.collect());
        objects.add(Kind::Context, context, 0, 0);
        Self {
            gpus,
            objects,
            waits: HashMap::new(),
            retained: [0; 2],
            linked: None,
        }
    }

    /// The current context.
    pub(super) fn current() -> u64 {
        let mut current = 0;
        works(cu!(cuCtxGetCurrent(&raw mut current => *mut u64)));
        current
    }

    /// Something that the current context may have.
    pub(super) fn pick(&self, kinds: &[Kind], operands: &mut Operands<'_>) -> Object<Kind> {
        self.objects
            .pick(kinds, Some(Self::current()), operands.byte())
    }

    /// Something to destroy, which is not somebody else's.
    pub(super) fn pick_own(&self, kinds: &[Kind], operands: &mut Operands<'_>) -> u64 {
        let value = self.pick(kinds, operands).value;
        let is_foreign = self.gpus.bystander.handles().contains(&value);
        if is_foreign { 0 } else { value }
    }

    /// A stream.
    pub(super) fn stream(&self, operands: &mut Operands<'_>) -> u64 {
        self.pick(&[Kind::Stream], operands).value
    }

    /// Something of all contexts.
    pub(super) fn pick_any(&self, kinds: &[Kind], operands: &mut Operands<'_>) -> u64 {
        self.objects.pick(kinds, None, operands.byte()).value
    }

    /// A GPU of sequences, or none.
    pub(super) fn gpu(&self, operands: &mut Operands<'_>) -> i32 {
        match operands.byte() {
            250.. => -1,
            240.. => 99,
            choice => self.gpus.own[usize::from(choice) % 2],
        }
    }

    /// Makes something by `call`, which writes its handle or its address: sometimes it may not.
    pub(super) fn make(
        &mut self,
        kind: Kind,
        bytes: u64,
        operands: &mut Operands<'_>,
        call: impl FnOnce(*mut u64) -> u32,
    ) -> u32 {
        let mut made = 0;
        let is_null = operands.is_rare(8);
        let owner = Self::current();
        let code = call(if is_null { null_mut() } else { &raw mut made });
        if code == 0 {
            assert!(!is_null, "a {kind:?} was made for nobody");
            let of_all = [Kind::Context, Kind::Pool, Kind::Library, Kind::Kernel].contains(&kind);
            self.objects
                .add(kind, made, if of_all { 0 } else { owner }, bytes);
        }
        code
    }

    /// Notes that something has ended, if the call that destroys it was successful.
    pub(super) fn ended(&mut self, code: u32, value: u64) -> u32 {
        if code == 0 {
            self.objects.end(value);
        }
        code
    }

    /// Waits for a context. Returns whether it is intact: without work it stays so.
    pub(super) fn is_intact(context: u64) -> bool {
        let is_there = cu!(cuCtxPushCurrent_v2(context => u64)) == 0;
        let is_intact = is_there && cu!(cuCtxSynchronize()) == 0;
        if is_there {
            works(cu!(cuCtxPopCurrent_v2(null_mut() => *mut u64)));
        }
        is_intact
    }

    /// Destroys a context by `destroy`, perhaps while it has work. Objects left in it count as leaked, unless the
    /// context is broken.
    pub(super) fn destroy_context(
        &mut self,
        context: u64,
        has_work: bool,
        destroy: impl FnOnce() -> u32,
    ) -> u32 {
        let is_intact = (!has_work).then(|| Self::is_intact(context));
        let is_its = |object: &Object<Kind>| object.owner == context;
        let held = self.objects.live_of(&COUNTED).filter(is_its).count() as u64;
        let held = held
            + if self.waits.contains_key(&context) {
                2
            } else {
                0
            };
        let before = cuda_emu::counts().leaks;
        let code = destroy();
        let leaked = cuda_emu::counts().leaks - before;
        if code == 0 {
            // Its work may break it while it is destroyed.
            let is_intact = is_intact.unwrap_or(leaked > 0);
            let expected = if is_intact { held } else { 0 };
            assert_eq!(leaked, expected, "leaked resources of {held}");
            self.objects.end_all_of(context);
            self.objects.end(context);
            self.waits.remove(&context);
        } else {
            assert_eq!(leaked, 0, "a context that was not destroyed");
        }
        code
    }

    /// The host's memory for a copy of `len` bytes; null for more than there is.
    pub(super) fn host(len: u64, operands: &mut Operands<'_>) -> u64 {
        match operands.is_rare(8) || len > host_memory::BYTES {
            true => 0,
            false => HOST_MEMORY.copied,
        }
    }

    /// A range that may be the host's memory: null if it could be and is not, which no driver would notice.
    pub(super) fn checked(&self, address: u64, len: u64) -> u64 {
        let is_inside = |start: u64, bytes: u64| {
            let end = address
                .checked_sub(start)
                .and_then(|at| at.checked_add(len));
            end.is_some_and(|end| end <= bytes)
        };
        let of_host = [Kind::Pinned, Kind::Managed, Kind::Registered];
        let mut known = self.objects.live_of(&of_host);
        let is_known = known.any(|object| is_inside(object.value, object.bytes));
        let is_memory = is_known || is_inside(HOST_MEMORY.copied, host_memory::BYTES);
        // Device memory has addresses that the host cannot have.
        if address >> 56 != 0 || is_memory {
            address
        } else {
            0
        }
    }
}
