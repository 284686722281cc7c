//! The kind of an argument mapping: what the host does with `hostaddrs[i]`.
//!
//! Numeric values are libgomp's (GCC 13 to 16). A kind on the wire is a `u16`:
//! the low byte is the kind, with [`IMPLICIT_BITS`] possibly set, the high byte
//! the binary logarithm of the alignment in bytes.

/// Bits of the low byte by which GCC marks a mapping as implicit; they do not
/// change what the host does.
pub const IMPLICIT_BITS: u8 = 0x60;

/// A mapping kind with its alignment, as encoded on the wire.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MapKind(
    /// The value on the wire.
    pub u16,
);

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $name:ident = $value:literal;)*) => {
        impl MapKind {
            $($(#[doc = $doc])* pub const $name: MapKind = MapKind($value);)*

            /// Name of the kind (alignment and implicit bits aside), if it has one.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self.base() {
                    $($value => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    /// Storage on the host, nothing copied.
    ALLOC = 0x00;
    /// Copied to the function.
    TO = 0x01;
    /// Copied back from the function.
    FROM = 0x02;
    /// Copied both ways.
    TOFROM = 0x03;
    /// A pointer whose target is the entry before it, where that is mapped.
    POINTER = 0x04;
    /// A Fortran array descriptor.
    TO_PSET = 0x05;
    /// Must be present.
    FORCE_PRESENT = 0x06;
    /// Drop the mapping.
    DELETE = 0x07;
    /// Private copy of the bytes at the address.
    FIRSTPRIVATE = 0x0c;
    /// The value is the address itself.
    FIRSTPRIVATE_INT = 0x0d;
    /// An array section of length zero.
    ZERO_LEN_ARRAY_SECTION = 0x0f;
    /// [`TO`](Self::TO), also where present.
    ALWAYS_TO = 0x11;
    /// [`FROM`](Self::FROM), also where present.
    ALWAYS_FROM = 0x12;
    /// [`TOFROM`](Self::TOFROM), also where present.
    ALWAYS_TOFROM = 0x13;
    /// Release the mapping.
    RELEASE = 0x17;
    /// Header of a structure; `sizes[i]` is the number of member entries that follow.
    STRUCT = 0x1c;
    /// [`POINTER`](Self::POINTER), also where present.
    ALWAYS_POINTER = 0x1d;
    /// A pointer to a section of length zero.
    POINTER_TO_ZERO_LENGTH_ARRAY_SECTION = 0x1e;
    /// Drop the mapping of a zero-length section.
    DELETE_ZERO_LEN_ARRAY_SECTION = 0x1f;
    /// Attach a pointer to its mapped target; `sizes[i]` is the bias.
    ATTACH = 0x50;
    /// [`ALLOC`](Self::ALLOC), without searching for a mapping first.
    FORCE_ALLOC = 0x80;
    /// [`TO`](Self::TO), copied even if present.
    FORCE_TO = 0x81;
    /// [`FROM`](Self::FROM), copied even if present.
    FORCE_FROM = 0x82;
    /// [`TOFROM`](Self::TOFROM), copied even if present.
    FORCE_TOFROM = 0x83;
    /// Present, and copied to the function.
    ALWAYS_PRESENT_TO = 0x95;
    /// Present, and copied back.
    ALWAYS_PRESENT_FROM = 0x96;
    /// Present, and copied both ways.
    ALWAYS_PRESENT_TOFROM = 0x97;
}

impl MapKind {
    /// The kind alone: the low byte without the mark of an implicit mapping.
    ///
    /// The mark is both bits of [`IMPLICIT_BITS`] and none of the three below
    /// them; kinds such as [`ATTACH`](Self::ATTACH) use these bits as their own.
    #[must_use]
    pub const fn base(self) -> u16 {
        let low = self.0 & 0xff;
        if low & 0x7c == IMPLICIT_BITS as u16 {
            low & !(IMPLICIT_BITS as u16)
        } else {
            low
        }
    }

    /// The kind alone, as a kind.
    #[must_use]
    pub const fn plain(self) -> MapKind {
        MapKind(self.base())
    }

    /// Alignment in bytes that the high byte requests, a power of two; `None` if the exponent is
    /// too large for an address.
    #[must_use]
    pub const fn align(self) -> Option<usize> {
        1usize.checked_shl((self.0 >> 8) as u32)
    }

    /// This kind with the given alignment, a power of two of at most 2^63.
    #[must_use]
    pub const fn with_align(self, align: usize) -> MapKind {
        MapKind((self.0 & 0xff) | ((align.trailing_zeros() as u16) << 8))
    }

    /// Whether bytes at the address may have to reach the host.
    #[must_use]
    pub const fn reads_device(self) -> bool {
        matches!(
            self.plain(),
            Self::TO
                | Self::TOFROM
                | Self::FORCE_TO
                | Self::FORCE_TOFROM
                | Self::ALWAYS_TO
                | Self::ALWAYS_TOFROM
                | Self::ALWAYS_PRESENT_TO
                | Self::ALWAYS_PRESENT_TOFROM
                | Self::FIRSTPRIVATE
                | Self::TO_PSET
        )
    }

    /// Whether bytes at the address may have to come back from the host.
    #[must_use]
    pub const fn writes_device(self) -> bool {
        matches!(
            self.plain(),
            Self::FROM
                | Self::TOFROM
                | Self::FORCE_FROM
                | Self::FORCE_TOFROM
                | Self::ALWAYS_FROM
                | Self::ALWAYS_TOFROM
                | Self::ALWAYS_PRESENT_FROM
                | Self::ALWAYS_PRESENT_TOFROM
        )
    }
}

impl core::fmt::Debug for MapKind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name}({:#06x})", self.0),
            None => write!(f, "MapKind({:#06x})", self.0),
        }
    }
}

const _: () = assert!(size_of::<MapKind>() == 2 && align_of::<MapKind>() == 2);
