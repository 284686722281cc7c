//! The first pass over a request's arguments: checks each, and lists those that need memory.

use std::{ptr, sync::Arc};

use shared_abi::map_kind::MapKind;

use super::{
    Arg, ArgInfo, Data, HostArg, Limits, MapError, Scratch,
    arena::MAX_ALIGN,
    blocks::{CONGRUENCE, Range, RangeKind},
    budget::UNCOUNTED,
    foreign::Foreign,
    kinds::{Class, CopyCondition, Missing, classify},
    pointers::{POINTER_SIZE, Site},
    present::{Present, PresentReader},
};

/// Maximum bytes of lists per argument while its request is served.
const ARG_BYTES: usize = 256;

/// The number of arguments whose lists a request may hold uncounted.
const FEW_ARGS: usize = UNCOUNTED as usize / ARG_BYTES;

/// The pass in progress.
pub(super) struct Plan<'a> {
    scratch: &'a mut Scratch,
    limits: &'a Limits,
    args: &'a [Arg],
    present: Option<PresentReader<'a>>,
    /// The checks if another runtime maps the arguments.
    foreign: Option<Foreign<'a>>,
    /// Bytes of memory and copies requested so far.
    total: u64,
    /// The descriptor whose pointer entries follow, and whether it is present.
    descriptor: Option<(usize, bool)>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(
        scratch: &'a mut Scratch,
        limits: &'a Limits,
        args: &'a [Arg],
        data: &Data<'a>,
    ) -> Self {
        let (present, foreign) = match *data {
            Data::Present(table) => (table.read(), None),
            Data::Foreign(may_be_mapped) => (None, Some(Foreign::new(may_be_mapped))),
        };
        Plan {
            scratch,
            limits,
            args,
            present,
            foreign,
            total: 0,
            descriptor: None,
        }
    }

    pub(super) fn run(mut self) -> Result<(), MapError> {
        if self.args.len() > FEW_ARGS {
            self.charge(0, (self.args.len() * ARG_BYTES) as u64)?;
        }
        for (index, arg) in self.args.iter().enumerate() {
            self.scratch.args.push(HostArg::null(arg.kind));
            let class = classify(arg.kind);
            let is_pointer = matches!(class, Some(Class::Pointer | Class::DescriptorPointer));
            // For libgomp this kind ends a descriptor.
            let is_last = self.foreign.is_some() && arg.kind.plain() == MapKind::ATTACH;
            if !is_pointer || is_last {
                self.descriptor = None;
            }
            // As in libgomp, for every kind.
            if arg.addr == 0 && class != Some(Class::Value) {
                continue;
            }
            match class {
                Some(Class::Data { to, from, missing }) => self.data(index, to, from, missing)?,
                Some(Class::Value) => {
                    let value = &mut self.scratch.args[index];
                    value.ptr = ptr::without_provenance_mut(arg.addr as usize);
                    value.size = arg.size;
                }
                Some(Class::Private) => self.private(index)?,
                Some(Class::Pointer) => match self.descriptor {
                    Some(descriptor) => self.pointer_in(descriptor, index)?,
                    None => self.pointer(index)?,
                },
                Some(Class::DescriptorPointer) => match self.descriptor {
                    Some(descriptor) => {
                        self.pointer_in(descriptor, index)?;
                        // For libgomp this kind ends a descriptor, too.
                        self.descriptor = self.descriptor.filter(|_| self.foreign.is_none());
                    }
                    None => {
                        return Err(MapError::UnsupportedKind {
                            arg: self.info(index),
                        });
                    }
                },
                Some(Class::Descriptor) => self.descriptor(index)?,
                Some(Class::Struct) => self.structure(index)?,
                None => {
                    return Err(MapError::UnsupportedKind {
                        arg: self.info(index),
                    });
                }
            }
        }
        Ok(())
    }

    fn data(
        &mut self,
        index: usize,
        to: CopyCondition,
        from: CopyCondition,
        missing: Missing,
    ) -> Result<(), MapError> {
        let Arg { addr, size, .. } = self.args[index];
        let end = self.end_of(index, size)?;
        let present = self.find(index, addr, end)?;
        let made = !present && missing == Missing::Make;
        let copies = (to.holds(present), from.holds(present));
        if made || copies.0 || copies.1 {
            self.charge(index, size)?;
        }
        if present && (size > 0 || missing != Missing::Make || self.is_aligned(index)) {
            self.copy_present(index, copies);
        } else if made && size > 0 {
            self.need(index, addr, end, RangeKind::Data, copies)?;
        } else {
            self.scratch.unbacked.push(index);
        }
        Ok(())
    }

    fn private(&mut self, index: usize) -> Result<(), MapError> {
        let Arg { addr, size, .. } = self.args[index];
        self.end_of(index, size)?;
        let align = 1 << self.align_log(index)?;
        self.charge(index, size)?;
        let len = size as usize;
        let Some(place) = self.scratch.arena.take(len, align, 0, false) else {
            return Err(MapError::OutOfMemory {
                arg: self.info(index),
                bytes: size,
            });
        };
        let arg = &mut self.scratch.args[index];
        (arg.ptr, arg.size) = (place.as_ptr(), size);
        // SAFETY: `len` bytes of the arena, which keeps them until the request ends.
        unsafe { self.scratch.copy(index, addr, place, len, (true, false)) };
        Ok(())
    }

    fn descriptor(&mut self, index: usize) -> Result<(), MapError> {
        let Arg { addr, size, .. } = self.args[index];
        let end = self.end_of(index, size)?;
        let present = self.find(index, addr, end)?;
        if !present && size == 0 {
            self.scratch.unbacked.push(index);
        } else if !present {
            self.charge(index, size)?;
            self.need(index, addr, end, RangeKind::Data, (true, false))?;
        }
        self.descriptor = Some((index, present));
        Ok(())
    }

    /// A pointer in the preceding descriptor. Its size is its offset there.
    fn pointer_in(&mut self, descriptor: (usize, bool), index: usize) -> Result<(), MapError> {
        let header = &self.args[descriptor.0];
        let pointer = &self.args[index];
        let fits = pointer.addr.checked_sub(pointer.size) == Some(header.addr)
            && pointer.size <= header.size
            && header.size - pointer.size >= POINTER_SIZE;
        let may_be_foreign =
            |foreign: &Foreign<'_>| foreign.may_have_mapped(header.addr, header.size);
        if !fits && !self.foreign.as_ref().is_some_and(may_be_foreign) {
            return Err(MapError::NotInDescriptor {
                arg: self.info(index),
                descriptor: descriptor.0,
            });
        }
        self.scratch.sites.push(Site::InDescriptor {
            entry: index,
            descriptor: descriptor.0,
            present: descriptor.1,
        });
        Ok(())
    }

    fn pointer(&mut self, index: usize) -> Result<(), MapError> {
        // A value has no memory; its bits must not become an address.
        let before = index
            .checked_sub(1)
            .map(|before| classify(self.args[before].kind));
        if matches!(before, None | Some(Some(Class::Value))) {
            return Err(MapError::NoTarget {
                arg: self.info(index),
            });
        }
        if let Some(foreign) = &mut self.foreign {
            foreign.check_pointer(self.args, index)?;
        }
        let addr = self.args[index].addr;
        let end = self.end_of(index, POINTER_SIZE)?;
        // The original of a present pointer points to the right address already.
        if !self.find(index, addr, end)? {
            self.charge(index, POINTER_SIZE)?;
            self.need(index, addr, end, RangeKind::Pointer, (false, false))?;
            self.scratch.sites.push(Site::Free { entry: index });
        } else {
            self.scratch.args[index].size = POINTER_SIZE;
        }
        Ok(())
    }

    /// The members of a structure get one piece of memory, from the first to the last.
    fn structure(&mut self, index: usize) -> Result<(), MapError> {
        let header = &self.args[index];
        let rest = &self.args[index + 1..];
        let count = usize::try_from(header.size).unwrap_or(usize::MAX);
        let Some(members) = rest.get(..count) else {
            return Err(MapError::MemberCount {
                arg: self.info(index),
                left: rest.len(),
            });
        };
        if let Some(foreign) = &self.foreign {
            foreign.check_members(index, header, members)?;
        }
        let (mut low, mut high) = (u64::MAX, 0);
        for (member, at) in members.iter().zip(index + 1..) {
            if member.addr == 0 {
                continue;
            }
            let size = match classify(member.kind) {
                Some(Class::Data { .. } | Class::Descriptor) => member.size,
                Some(Class::Pointer | Class::DescriptorPointer) => POINTER_SIZE,
                // Nested structures are not allowed either, since they could make this loop
                // quadratic.
                _ => {
                    return Err(MapError::Member {
                        arg: self.info(at),
                        header: index,
                    });
                }
            };
            low = low.min(member.addr);
            high = high.max(self.end_of(at, size)?);
        }
        if low >= high {
            self.scratch.unbacked.push(index);
            return Ok(());
        }
        if self.find(index, low, high)? {
            self.scratch.args[index].size = 0;
            return Ok(());
        }
        self.charge(index, high - low)?;
        self.need(index, low, high, RangeKind::Header, (false, false))
    }

    /// Looks `[start, end)` up in the present data. If it is present, the argument gets its address
    /// and full size there, and the request holds the data.
    fn find(&mut self, index: usize, start: u64, end: u64) -> Result<bool, MapError> {
        let Some(reader) = &self.present else {
            return Ok(false);
        };
        let found = reader
            .find(start, end)
            .map_err(|present| MapError::Straddles {
                arg: ArgInfo::new(index, &self.args[index]),
                present,
            })?;
        let Some(present) = found else {
            return Ok(false);
        };
        let arg = &mut self.scratch.args[index];
        arg.ptr = present.translate(self.args[index].addr);
        arg.size = self.args[index].size;
        (arg.exclusive, arg.present) = (false, true);
        self.scratch.hold(present);
        Ok(true)
    }

    fn copy_present(&mut self, index: usize, copies: (bool, bool)) {
        let HostArg { ptr, size, .. } = self.scratch.args[index];
        // Never null: it points into, or to the end of, an original.
        let Some(host) = ptr::NonNull::new(ptr) else {
            return;
        };
        let device = self.args[index].addr;
        // SAFETY: the range lies in data of the table, whose original is valid by
        // the contract of `insert` and stays in the table while the request holds it.
        unsafe {
            self.scratch
                .copy(index, device, host, size as usize, copies)
        };
    }

    /// Whether an argument's host address is aligned as its kind requests.
    fn is_aligned(&self, index: usize) -> bool {
        let addr = self.scratch.args[index].ptr.addr();
        self.args[index]
            .kind
            .align()
            .is_some_and(|align| addr & (align - 1) == 0)
    }

    /// Records that `[start, end)` needs memory of this request.
    fn need(
        &mut self,
        index: usize,
        start: u64,
        end: u64,
        kind: RangeKind,
        (to, from): (bool, bool),
    ) -> Result<(), MapError> {
        let align_log = match kind {
            RangeKind::Pointer => POINTER_SIZE.trailing_zeros() as u8,
            RangeKind::Data | RangeKind::Header => self.align_log(index)?,
        };
        self.scratch.ranges.push(Range {
            start,
            end,
            entry: index,
            align_log,
            kind,
            to,
            from,
        });
        Ok(())
    }

    /// Counts `bytes`, and the possible cost of alignment, against the limit.
    fn charge(&mut self, index: usize, bytes: u64) -> Result<(), MapError> {
        let align = self.args[index]
            .kind
            .align()
            .unwrap_or(MAX_ALIGN)
            .min(MAX_ALIGN);
        let padding = if align > CONGRUENCE { align as u64 } else { 0 };
        self.total = self.total.saturating_add(bytes).saturating_add(padding);
        if self.total > self.limits.max_bytes {
            return Err(MapError::TooLarge {
                arg: self.info(index),
                total: self.total,
                limit: self.limits.max_bytes,
            });
        }
        if let Err(over) = self.scratch.share.grow_to(self.total) {
            return Err(MapError::OverBudget {
                arg: self.info(index),
                total: self.total,
                used: over.used,
                limit: over.limit,
            });
        }
        Ok(())
    }

    fn end_of(&self, index: usize, size: u64) -> Result<u64, MapError> {
        let end = self.args[index].addr.checked_add(size);
        end.ok_or_else(|| MapError::Wraps {
            arg: self.info(index),
        })
    }

    fn align_log(&self, index: usize) -> Result<u8, MapError> {
        let log = (self.args[index].kind.0 >> 8) as u8;
        if u32::from(log) > MAX_ALIGN.trailing_zeros() {
            return Err(MapError::Alignment {
                arg: self.info(index),
                max: MAX_ALIGN,
            });
        }
        Ok(log)
    }

    #[cold]
    fn info(&self, index: usize) -> ArgInfo {
        ArgInfo::new(index, &self.args[index])
    }
}

impl Scratch {
    /// Keeps present data in its table until the request ends.
    pub(super) fn hold(&mut self, present: &Arc<Present>) {
        // Neighbours often lie in the same data.
        if !self
            .held
            .last()
            .is_some_and(|last| Arc::ptr_eq(last, present))
        {
            self.held.push(Arc::clone(present));
        }
    }
}
