//! The effect of each kind of argument.

use shared_abi::map_kind::MapKind;

/// When the bytes of a range are copied.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CopyCondition {
    /// In no case.
    Never,
    /// Unless the data has an original on the host.
    Absent,
    /// Always.
    Always,
}

impl CopyCondition {
    /// The answer for data that is or is not present.
    pub(super) fn holds(self, present: bool) -> bool {
        match self {
            CopyCondition::Never => false,
            CopyCondition::Absent => !present,
            CopyCondition::Always => true,
        }
    }
}

/// The treatment of data that has no original on the host.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// It gets host memory for the duration of the call.
    Make,
    /// The request is rejected.
    Refuse,
    /// The function gets a null pointer.
    Null,
}

/// The effect of a kind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// A range of bytes.
    Data {
        /// Copied to the host.
        to: CopyCondition,
        /// Copied back.
        from: CopyCondition,
        /// If it is neither present nor part of another range.
        missing: Missing,
    },
    /// A range of which the function gets its own copy.
    Private,
    /// The address is the argument.
    Value,
    /// A pointer to the entry before it.
    Pointer,
    /// A pointer that is only allowed in a descriptor.
    DescriptorPointer,
    /// A Fortran array descriptor, with its pointers in the entries that follow.
    Descriptor,
    /// The header of a structure.
    Struct,
}

/// The effect of `kind`; `None` if it is not allowed in a call to the host.
pub(super) fn classify(kind: MapKind) -> Option<Class> {
    use CopyCondition::{Absent, Always, Never};
    use Missing::{Make, Null, Refuse};

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
