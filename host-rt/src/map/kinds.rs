//! What each kind of argument asks of the host.

use shared_abi::map_kind::MapKind;

/// When the bytes of a range travel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// In no case.
    Never,
    /// Unless the data has an original on the host.
    Absent,
    /// In any case.
    Always,
}

impl When {
    /// The answer for data that is or is not present.
    pub(super) fn holds(self, present: bool) -> bool {
        match self {
            When::Never => false,
            When::Absent => !present,
            When::Always => true,
        }
    }
}

/// What becomes of data that has no original on the host.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// It gets host memory for the time of the call.
    Make,
    /// The request is refused.
    Refuse,
    /// The function gets a null pointer.
    Null,
}

/// What a kind asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// A range of bytes.
    Data {
        /// Copied to the host.
        to: When,
        /// Copied back.
        from: When,
        /// If it is neither present nor part of another range.
        missing: Missing,
    },
    /// A range of which the function gets its own copy.
    Private,
    /// The address is the argument.
    Value,
    /// A pointer to the entry before it.
    Pointer,
    /// A pointer that has a meaning in a descriptor alone.
    DescriptorPointer,
    /// A Fortran array descriptor, with its pointers in the entries that follow.
    Descriptor,
    /// The header of a structure.
    Struct,
}

/// What `kind` asks for; `None` if a call to the host cannot have it.
pub(super) fn classify(kind: MapKind) -> Option<Class> {
    use Missing::{Make, Null, Refuse};
    use When::{Absent, Always, Never};

    let data = |to, from, missing| Some(Class::Data { to, from, missing });
    match kind.plain() {
        MapKind::TO => data(Absent, Never, Make),
        MapKind::FROM => data(Never, Absent, Make),
        MapKind::TOFROM => data(Absent, Absent, Make),
        MapKind::ALLOC | MapKind::FORCE_ALLOC | MapKind::ZERO_LEN_ARRAY_SECTION => {
            data(Never, Never, Make)
        }
        MapKind::FORCE_TO | MapKind::ALWAYS_TO => data(Always, Never, Make),
        MapKind::FORCE_FROM | MapKind::ALWAYS_FROM => data(Never, Always, Make),
        MapKind::FORCE_TOFROM | MapKind::ALWAYS_TOFROM => data(Always, Always, Make),
        MapKind::FORCE_PRESENT => data(Never, Never, Refuse),
        MapKind::ALWAYS_PRESENT_TO => data(Always, Never, Refuse),
        MapKind::ALWAYS_PRESENT_FROM => data(Never, Always, Refuse),
        MapKind::ALWAYS_PRESENT_TOFROM => data(Always, Always, Refuse),
        MapKind::DELETE | MapKind::RELEASE | MapKind::DELETE_ZERO_LEN_ARRAY_SECTION => {
            data(Never, Never, Null)
        }
        MapKind::FIRSTPRIVATE => Some(Class::Private),
        MapKind::FIRSTPRIVATE_INT => Some(Class::Value),
        MapKind::POINTER | MapKind::ALWAYS_POINTER | MapKind::ATTACH => Some(Class::Pointer),
        MapKind::POINTER_TO_ZERO_LENGTH_ARRAY_SECTION => Some(Class::DescriptorPointer),
        MapKind::TO_PSET => Some(Class::Descriptor),
        MapKind::STRUCT => Some(Class::Struct),
        _ => None,
    }
}
