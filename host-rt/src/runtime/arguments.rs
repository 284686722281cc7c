//! The arguments of one launch, on the device.

use std::sync::Arc;

use revoff_fn::{Argument, Memory, Passed};

use super::Result;
use super::on_device::OnDevice;
use super::scoped_queue::ScopedQueue;
use crate::base::ranges::AddrRange;
use crate::device::{DeviceAddr, Fill, Params};

/// The arguments of one launch. They are on the device as long as this value lives.
pub(super) struct StagedArgs<'a>(Vec<StagedArg<'a>>);

/// One staged argument.
enum StagedArg<'a> {
    /// The argument is passed by value.
    Value(&'a [u8]),
    /// The argument is memory of no bytes, which needs no copy.
    Empty(&'a Memory<'a>),
    Buffer(BufferArg<'a>),
}

/// An argument of at least one byte of memory.
struct BufferArg<'a> {
    memory: &'a Memory<'a>,
    range: AddrRange,
    /// The copy on the device; `None` until it is found or made.
    on_device: Option<Arc<OnDevice>>,
    /// Whether the copy is for this launch only.
    is_temporary: bool,
}

impl<'a> StagedArgs<'a> {
    /// Finds the copies of mapped arguments on the device, and starts copying the others there.
    ///
    /// # Errors
    /// The device has not enough memory, or only a part of an argument is mapped.
    pub(super) fn new(
        queue: &mut ScopedQueue<'_>,
        kernel: &str,
        arguments: &'a [Argument<'a>],
    ) -> Result<Self> {
        let mut arguments: Vec<_> = arguments.iter().map(StagedArg::of).collect();
        {
            let mut present = queue.runtime().data_environment().read();
            for arg in &arguments {
                if let StagedArg::Buffer(buffer) = arg
                    && buffer.memory.form().copies_back()
                {
                    present.drop_forgotten(buffer.range);
                }
            }
            for (number, arg) in arguments.iter_mut().enumerate() {
                if let StagedArg::Buffer(buffer) = arg {
                    let what = || format!("argument {number} of kernel `{kernel}`");
                    buffer.on_device = present.find(buffer.range, what)?;
                }
            }
        }
        let temporary = arguments.iter_mut().filter_map(|arg| match arg {
            StagedArg::Buffer(buffer) if buffer.on_device.is_none() => Some(buffer),
            _ => None,
        });
        stage_temporary(queue, temporary.collect())?;
        Ok(StagedArgs(arguments))
    }

    /// The kernel's parameters.
    pub(super) fn params(&self) -> Params {
        let mut params = Params::default();
        for arg in &self.0 {
            let (address, memory) = match arg {
                StagedArg::Value(bytes) => {
                    params.push(bytes);
                    continue;
                }
                // An aligned address other than null, as Rust's references require.
                StagedArg::Empty(memory) => (DeviceAddr(memory.align() as u64), memory),
                StagedArg::Buffer(buffer) => (buffer.address(), &buffer.memory),
            };
            params.push(&address.0.to_ne_bytes());
            if let Some(elements) = memory.elements() {
                params.push(&(elements as u64).to_ne_bytes());
            }
        }
        params
    }

    /// Copies temporary arguments that the kernel writes back to the host, and waits for the
    /// copies.
    ///
    /// # Errors
    /// A copy failed.
    pub(super) fn copy_back(self, mut queue: ScopedQueue<'_>) -> Result<()> {
        for arg in &self.0 {
            if let StagedArg::Buffer(buffer) = arg
                && buffer.is_temporary
                && buffer.memory.form().copies_back()
            {
                let (to, len) = (buffer.memory.address(), buffer.memory.bytes());
                // SAFETY: an argument that comes back is writable memory, valid with any bytes,
                // and borrowed exclusively. The borrow lasts until the copies are finished, below
                // or by the drop of `queue`.
                unsafe { queue.copy_from_device(to, buffer.address(), len)? };
            }
        }
        queue.finish()
    }
}

impl<'a> StagedArg<'a> {
    fn of(argument: &'a Argument<'a>) -> Self {
        let memory = match argument.passed() {
            Passed::Memory(memory) => memory,
            Passed::Value(value) => return StagedArg::Value(value.bytes()),
        };
        match AddrRange::new(memory.address().addr(), memory.bytes()) {
            Some(range) if !range.is_empty() => StagedArg::Buffer(BufferArg {
                memory,
                range,
                on_device: None,
                is_temporary: false,
            }),
            _ => StagedArg::Empty(memory),
        }
    }
}

impl BufferArg<'_> {
    /// Its device address, once it is staged.
    fn address(&self) -> DeviceAddr {
        let start = self.range.start();
        let on_device = self.on_device.as_ref();
        on_device.expect("it is staged").address_of(start)
    }
}

/// Starts copying arguments that are not on the device. Overlapping arguments share one copy, and
/// no byte is copied twice. Only read-only arguments can overlap.
fn stage_temporary(
    queue: &mut ScopedQueue<'_>,
    mut temporary: Vec<&mut BufferArg<'_>>,
) -> Result<()> {
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

        let copy_in = group.iter().any(|buffer| buffer.memory.form().copies_in());
        let fill = if copy_in { Fill::Any } else { Fill::Zeros };
        let range = AddrRange::new(start, end - start).expect("ranges and their union do not wrap");
        let on_device = queue.alloc(range, fill)?;
        let mut copied = start;
        for buffer in group {
            let from = copied.max(buffer.range.start());
            let bytes = buffer.range.end().saturating_sub(from);
            if buffer.memory.form().copies_in() && bytes > 0 {
                let source = buffer
                    .memory
                    .address()
                    .wrapping_add(from - buffer.range.start());
                // SAFETY: these bytes are the rest of the argument, which is readable and not
                // written while it is borrowed. `TypedKernel::launch`, the caller's caller, borrows
                // it until the copies are finished or dropped.
                unsafe { queue.copy_to_device(on_device.address_of(from), source, bytes)? };
                copied = buffer.range.end();
            }
            buffer.on_device = Some(Arc::clone(&on_device));
            buffer.is_temporary = true;
        }
    }
    Ok(())
}
