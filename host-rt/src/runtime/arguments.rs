//! The arguments of one launch, on the device.

use std::sync::Arc;

use host_fn::{Argument, Memory, Travels};

use super::Result;
use super::copies::Copies;
use super::on_device::OnDevice;
use crate::base::ranges::AddrRange;
use crate::device::{Fill, Params};

/// The arguments of one launch, on the device as long as this lives.
pub(super) struct StagedArgs<'a>(Vec<ArgLocation<'a>>);

/// Where one argument is.
enum ArgLocation<'a> {
    /// Nowhere: it travels as these bytes.
    Value(&'a [u8]),
    /// At no address: it is empty.
    Empty(&'a Memory<'a>),
    Buffer(BufferArg<'a>),
}

/// An argument of at least one byte of memory.
struct BufferArg<'a> {
    memory: &'a Memory<'a>,
    range: AddrRange,
    /// `None` as long as that is to be found out.
    on_device: Option<Arc<OnDevice>>,
    /// It is there for this launch alone.
    is_temporary: bool,
}

impl<'a> StagedArgs<'a> {
    /// Begins to copy to the device what goes there and is not there yet.
    ///
    /// # Errors
    /// The device has not that much memory, or some of it is there only in part.
    pub(super) fn new(
        copies: &mut Copies<'_>,
        kernel: &str,
        arguments: &'a [Argument<'a>],
    ) -> Result<Self> {
        let mut arguments: Vec<_> = arguments.iter().map(ArgLocation::of).collect();
        {
            let mut present = copies.runtime().environment().read();
            for location in &arguments {
                if let ArgLocation::Buffer(buffer) = location
                    && buffer.memory.form().comes_back()
                {
                    present.drop_forgotten(buffer.range);
                }
            }
            for (number, location) in arguments.iter_mut().enumerate() {
                if let ArgLocation::Buffer(buffer) = location {
                    let what = || format!("argument {number} of kernel `{kernel}`");
                    buffer.on_device = present.find(buffer.range, what)?;
                }
            }
        }
        let temporary = arguments.iter_mut().filter_map(|location| match location {
            ArgLocation::Buffer(buffer) if buffer.on_device.is_none() => Some(buffer),
            _ => None,
        });
        stage_temporary(copies, temporary.collect())?;
        Ok(StagedArgs(arguments))
    }

    /// The kernel's parameters.
    pub(super) fn params(&self) -> Params {
        let mut params = Params::default();
        for location in &self.0 {
            let (address, memory) = match location {
                ArgLocation::Value(bytes) => {
                    params.push(bytes);
                    continue;
                }
                // As Rust has it: aligned, and not null.
                ArgLocation::Empty(memory) => (memory.align() as u64, memory),
                ArgLocation::Buffer(buffer) => (buffer.address(), &buffer.memory),
            };
            params.push(&address.to_ne_bytes());
            if let Some(elements) = memory.elements() {
                params.push(&(elements as u64).to_ne_bytes());
            }
        }
        params
    }

    /// Copies back what comes back and does not stay, and waits for it.
    ///
    /// # Errors
    /// A copy failed.
    pub(super) fn copy_back(self, mut copies: Copies<'_>) -> Result<()> {
        for location in &self.0 {
            if let ArgLocation::Buffer(buffer) = location
                && buffer.is_temporary
                && buffer.memory.form().comes_back()
            {
                let (to, len) = (buffer.memory.address(), buffer.memory.bytes());
                // SAFETY: memory that comes back is writable, with any bytes, and used for
                // nothing else as long as the argument is borrowed; until the copies are
                // finished, below or by their drop, it is.
                unsafe { copies.copy_from_device(to, buffer.address(), len)? };
            }
        }
        copies.finish()
    }
}

impl<'a> ArgLocation<'a> {
    fn of(argument: &'a Argument<'a>) -> Self {
        let memory = match argument.travels() {
            Travels::Memory(memory) => memory,
            Travels::Value(value) => return ArgLocation::Value(value.bytes()),
        };
        match AddrRange::new(memory.address().addr(), memory.bytes()) {
            Some(range) if !range.is_empty() => ArgLocation::Buffer(BufferArg {
                memory,
                range,
                on_device: None,
                is_temporary: false,
            }),
            _ => ArgLocation::Empty(memory),
        }
    }
}

impl BufferArg<'_> {
    fn address(&self) -> u64 {
        let start = self.range.start();
        let on_device = self.on_device.as_ref();
        on_device.map_or(0, |on_device| on_device.address_of(start))
    }
}

/// Begins to copy to the device what is not there. Arguments that overlap, which are all read and
/// never written, share one copy, and no byte of them is copied twice.
fn stage_temporary(copies: &mut Copies<'_>, mut temporary: Vec<&mut BufferArg<'_>>) -> Result<()> {
    temporary.sort_by_key(|buffer| buffer.range.start());
    let mut rest = &mut temporary[..];
    while let Some(first) = rest.first() {
        let (start, mut end, mut len) = (first.range.start(), first.range.end(), 1);
        while let Some(next) = rest.get(len)
            && next.range.start() < end
        {
            end = end.max(next.range.end());
            len += 1;
        }
        let (group, others) = rest.split_at_mut(len);
        rest = others;

        let goes = group.iter().any(|buffer| buffer.memory.form().goes());
        let fill = if goes { Fill::Any } else { Fill::Zeros };
        let Some(range) = AddrRange::new(start, end - start) else {
            continue;
        };
        let on_device = copies.alloc(range, fill)?;
        let mut copied = start;
        for buffer in group {
            let from = copied.max(buffer.range.start());
            let bytes = buffer.range.end().saturating_sub(from);
            if buffer.memory.form().goes() && bytes > 0 {
                let source = buffer
                    .memory
                    .address()
                    .wrapping_add(from - buffer.range.start());
                // SAFETY: what is left of the argument from there on: readable, and
                // written by nobody as long as it is borrowed, which it is in the caller's
                // caller, `TypedKernel::launch`, until the copies are finished or dropped.
                unsafe { copies.copy_to_device(on_device.address_of(from), source, bytes)? };
                copied = buffer.range.end();
            }
            buffer.on_device = Some(Arc::clone(&on_device));
            buffer.is_temporary = true;
        }
    }
    Ok(())
}
