//! The guards of data that is on the device.

use std::fmt;
use std::ops::{Deref, DerefMut};

use host_fn::Plain;
use zerocopy::IntoBytes;

use super::copies::Copies;
use super::environment::{Borrow, Share};
use super::on_device::OnDevice;
use super::{Result, Runtime};
use crate::base::ranges::AddrRange;
use crate::device::Fill;

impl Runtime {
    /// Copies `data` to the device, where launches find it as long as the guard lives:
    /// what they get of it, all or a part, is not copied again.
    ///
    /// Data that is there already is not copied.
    ///
    /// # Errors
    /// The device has not that much memory, or a part of it alone is there already.
    pub fn map_to<'a, T: Plain>(&self, data: &'a [T]) -> Result<Mapped<'a, T>> {
        let mapping = Mapping::new(self, data, Borrow::Shared, "map_to", true)?;
        Ok(Mapped { data, mapping })
    }

    /// As [`map_to`](Self::map_to), for data that launches write: it is copied back when
    /// the guard ends.
    ///
    /// # Errors
    /// As for [`map_to`](Self::map_to).
    pub fn map_tofrom<'a, T: Plain>(&self, data: &'a mut [T]) -> Result<MappedMut<'a, T>> {
        let mapping = Mapping::new(self, data, Borrow::Exclusive, "map_tofrom", true)?;
        Ok(MappedMut { data, mapping })
    }

    /// As [`map_tofrom`](Self::map_tofrom), but the device has zeroes at first.
    ///
    /// # Errors
    /// As for [`map_to`](Self::map_to).
    pub fn map_from<'a, T: Plain>(&self, data: &'a mut [T]) -> Result<MappedMut<'a, T>> {
        let mapping = Mapping::new(self, data, Borrow::Exclusive, "map_from", false)?;
        Ok(MappedMut { data, mapping })
    }
}

/// Data that is on the device, and does not change there.
///
/// It can be used like the slice that it was made from; `&guard` is an argument for a
/// launch. The data is borrowed until it is dropped:
///
/// ```compile_fail,E0502
/// # fn change(_: &mut [f32]) {}
/// # fn wrong(runtime: &host_rt::Runtime) -> Result<(), host_rt::Error> {
/// let mut x = vec![1.0; 1000];
/// let mapped = runtime.map_to(&x)?;
/// change(&mut x);
/// # Ok(())
/// # }
/// ```
///
/// To forget it (`mem::forget`) leaves the data on the device, whose memory is not freed then.
/// What comes to lie at the same host addresses, such as the same data after a change, is
/// taken for it as long as launches and guards only read it; the first that gets it by `&mut`
/// ends that.
pub struct Mapped<'a, T> {
    data: &'a [T],
    mapping: Mapping,
}

// An explicit drop keeps the data borrowed until then, so that a holder of `&mut` to it knows that
// no guard of this kind exists.
impl<T> Drop for Mapped<'_, T> {
    fn drop(&mut self) {
        self.mapping.give_back(false);
    }
}

/// Data that is on the device, and may change there.
///
/// Dropping it copies the data back, unless it was on the device when it was mapped: then
/// it comes back with the first guard. [`finish`](Self::finish) is the same with errors.
///
/// It can be used like the slice that it was made from; `&mut guard` and `&guard` are
/// arguments for a launch. What one sees through it is the host's data, which the device's
/// goes to and comes from only by [`update_from`](Self::update_from) and
/// [`update_to`](Self::update_to). To forget it (`mem::forget`) leaves the data on the
/// device: what comes to lie at the same host addresses later is then taken for it.
pub struct MappedMut<'a, T> {
    data: &'a mut [T],
    mapping: Mapping,
}

impl<T: Plain> MappedMut<'_, T> {
    /// Copies the host's data to the device.
    ///
    /// # Errors
    /// The copy failed.
    pub fn update_to(&mut self) -> Result<()> {
        self.mapping.copy_to(self.data)
    }

    /// Copies the device's data to the host.
    ///
    /// # Errors
    /// The copy failed; then it is unspecified what the data holds.
    pub fn update_from(&mut self) -> Result<()> {
        copy_from(&self.mapping, self.data)
    }
}

impl<T> MappedMut<'_, T> {
    /// Ends it: copies the data back, if it came to the device with this guard.
    ///
    /// # Errors
    /// The copy failed; then it is unspecified what the data holds.
    pub fn finish(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        let result = match &self.mapping.share {
            Some(share) if share.is_first => copy_from(&self.mapping, self.data),
            _ => Ok(()),
        };
        // All other guards borrowed from this one: if one is left, it was forgotten.
        self.mapping.give_back(true);
        result
    }
}

impl<T> Drop for MappedMut<'_, T> {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::error!(%error, "mapped data could not be copied back");
        }
    }
}

/// Where a guard's data is. The guard gives it back.
struct Mapping {
    runtime: Runtime,
    /// `None`: it is empty, or given back.
    share: Option<Share>,
}

impl Mapping {
    fn new<T: Plain>(
        runtime: &Runtime,
        data: &[T],
        borrow: Borrow,
        what: &str,
        goes: bool,
    ) -> Result<Self> {
        const {
            assert!(
                align_of::<T>() <= host_fn::Argument::MAX_ALIGN,
                "what a kernel gets is aligned to at most 256 bytes"
            );
        }
        let range = AddrRange::of(data);
        let make = || {
            let fill = if goes { Fill::Any } else { Fill::Zeros };
            let mut copies = Copies::new(runtime)?;
            let on_device = copies.alloc(range, fill)?;
            if goes {
                copy_to(&mut copies, &on_device, data)?;
            }
            copies.finish()?;
            Ok(on_device)
        };
        let share = match range.is_empty() {
            true => None,
            false => Some(runtime.environment().share(range, borrow, what, make)?),
        };
        Ok(Mapping {
            runtime: runtime.clone(),
            share,
        })
    }

    fn copy_to<T: Plain>(&self, data: &[T]) -> Result<()> {
        match &self.share {
            Some(share) => {
                let mut copies = Copies::new(&self.runtime)?;
                copy_to(&mut copies, &share.on_device, data)?;
                copies.finish()
            }
            None => Ok(()),
        }
    }

    fn give_back(&mut self, exclusive: bool) {
        if let Some(share) = self.share.take() {
            let for_all = exclusive && share.is_first;
            self.runtime.environment().give_back(&share, for_all);
        }
    }
}

/// Begins to copy `data`, which stays borrowed until `copies` are finished or dropped.
fn copy_to<T: Plain>(copies: &mut Copies<'_>, on_device: &OnDevice, data: &[T]) -> Result<()> {
    let bytes = data.as_bytes();
    let to = on_device.address_of(bytes.as_ptr().addr());
    // SAFETY: both callers have `data` borrowed for longer than they have `copies`.
    unsafe { copies.copy_to_device(to, bytes.as_ptr(), bytes.len()) }
}

fn copy_from<T>(mapping: &Mapping, data: &mut [T]) -> Result<()> {
    let Some(share) = &mapping.share else {
        return Ok(());
    };
    let (to, len) = (data.as_mut_ptr().cast::<u8>(), size_of_val(data));
    let mut copies = Copies::new(&mapping.runtime)?;
    let from = share.on_device.address_of(to.addr());
    // SAFETY: `data` is borrowed for this alone until the copy is finished, below or by
    // the drop. Any bytes are a `T`: guards are made of plain data alone, in `Mapping::new`.
    unsafe { copies.copy_from_device(to, from, len)? };
    copies.finish()
}

impl<T> Deref for Mapped<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.data
    }
}

impl<T> Deref for MappedMut<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.data
    }
}

impl<T> DerefMut for MappedMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.data
    }
}

impl<T> fmt::Debug for Mapped<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mapped({})", AddrRange::of(self.data))
    }
}

impl<T> fmt::Debug for MappedMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MappedMut({})", AddrRange::of(&*self.data))
    }
}
