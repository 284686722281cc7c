//! Reports about the mapping table, in LLVM's words: tools look for them.

use revoff_host::ranges::AddrRange;

use super::Device;
use super::counts::Counts;
use super::mapped::Mapped;
use super::request::{MapRequest, MappedRange};
use crate::report::message::{self, Failed};
use crate::report::source::Named;
use crate::settings::{self, Info};

/// Data that must be on the device is not.
pub(super) fn not_present(request: &MapRequest) -> Failed {
    message::message(&format!(
        "device mapping required by 'present' map type modifier does not exist for host address \
         {:#018x} ({} bytes)",
        request.begin, request.bytes
    ));
    message::error("Call to getTargetPointer returned null pointer ('present' map type modifier).")
}

/// The range `at` of an entry has only a part of the requested one.
pub(super) fn extension(request: &MapRequest, at: AddrRange) {
    message::message(&format!(
        "explicit extension not allowed: host address specified is {:#018x} ({} bytes), but device \
         allocation maps to host at {:#018x} ({} bytes)",
        request.begin,
        request.bytes,
        at.start(),
        at.len()
    ));
}

/// A range cannot be mapped.
pub(super) fn no_pointer() -> Failed {
    message::error(
        "Call to getTargetPointer returned null pointer (device failure or illegal mapping).",
    )
}

/// A construct maps a range that is mapped already.
pub(super) fn existing_by_name(
    device: &Device,
    request: &MapRequest,
    mapped: &Mapped,
    counts: Counts,
    action: &str,
) {
    if settings::info().has(Info::EXISTING) {
        message::info(
            device.number,
            &format!(
                "Mapping exists{} with HstPtrBegin={:#018x}, TgtPtrBegin={:#018x}, Size={}, {}, Name={}",
                if request.implicit { " (implicit)" } else { "" },
                request.begin,
                mapped.at(request.begin),
                request.bytes,
                counts.shown(request.hold, action),
                request.name.shown(),
            ),
        );
    }
}

/// A construct uses or unmaps a range.
pub(super) fn existing(
    device: &Device,
    begin: usize,
    bytes: usize,
    used: &MappedRange,
    counts: Counts,
    is_hold: bool,
    action: &str,
) {
    if settings::info().has(Info::EXISTING) {
        message::info(
            device.number,
            &format!(
                "Mapping exists with HstPtrBegin={begin:#018x}, TgtPtrBegin={:#018x}, Size={bytes}, {}",
                used.device,
                counts.shown(is_hold, action),
            ),
        );
    }
}

/// The device uses the host's memory.
pub(super) fn shared(device: &Device, request: &MapRequest) {
    if settings::info().has(Info::CHANGES) {
        let text = format!(
            "Return HstPtrBegin {:#018x} Size={} for unified shared memory",
            request.begin, request.bytes
        );
        message::info(device.number, &text);
    }
}

/// An entry is new: its data is at `place` in an allocation.
pub(super) fn created(
    device: &Device,
    request: &MapRequest,
    allocation: u64,
    place: u64,
    counts: Counts,
) {
    if settings::info().has(Info::CHANGES) {
        message::info(
            device.number,
            &format!(
                "Creating new map entry with HstPtrBase={:#018x}, HstPtrBegin={:#018x}, \
                 TgtAllocBegin={:#018x}, TgtPtrBegin={:#018x}, Size={}, {}, Name={}",
                request.base,
                request.begin,
                allocation,
                place,
                request.bytes,
                counts.shown(false, ""),
                request.name.shown(),
            ),
        );
    }
}

/// An entry is removed.
pub(super) fn removed(device: &Device, mapped: &Mapped, bytes: usize) {
    if settings::info().has(Info::CHANGES) {
        message::info(
            device.number,
            &format!(
                "Removing map entry with HstPtrBegin={:#018x}, TgtPtrBegin={:#018x}, Size={bytes}, Name={}",
                mapped.range().start(),
                mapped.device(),
                mapped.name().shown(),
            ),
        );
    }
}

/// The entries of a table, one line each; `place` is the construct's location.
pub(super) fn lines<'e>(
    entries: impl Iterator<Item = (AddrRange, &'e Mapped, Counts)>,
    place: &str,
) -> Vec<String> {
    let mut entries = entries.peekable();
    if entries.peek().is_none() {
        return vec!["OpenMP Host-Device pointer mappings table empty".to_owned()];
    }
    let mut lines = vec![
        format!("OpenMP Host-Device pointer mappings after block at {place}:"),
        format!(
            "{:<18} {:<18} Size (B) DynRefCount HoldRefCount Declaration",
            "Host Ptr", "Target Ptr"
        ),
    ];
    for (range, mapped, counts) in entries {
        // SAFETY: a C string in the program, or null, valid as long as the library that registered
        // it.
        let named = unsafe { Named::of(mapped.name().0) };
        let declared = named.map_or_else(
            || "unknown at unknown:0:0".to_owned(),
            |named| format!("{} at {}", named.name, named.location),
        );
        lines.push(format!(
            "{:#018x} {:#018x} {:<8} {:<11} {:<12} {declared}",
            range.start(),
            mapped.device(),
            range.len(),
            counts.dynamic,
            counts.hold,
        ));
    }
    lines
}
