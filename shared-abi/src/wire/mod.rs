//! The wires: protocols by which a request travels from device to host and its
//! answer back. One file each.

pub mod bounce;
pub mod claims;
pub mod gcc_ring;
pub mod gcc_slot;
pub mod gcn_queue;
pub mod native;

/// The protocol of a wire. A newtype, not an enum: images contain it.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WireKind(
    /// The value in [`DeviceConfig::wire_kind`](crate::image::DeviceConfig::wire_kind).
    pub u32,
);

impl WireKind {
    /// No wire.
    pub const NONE: WireKind = WireKind(0);
    /// [`gcc_slot`].
    pub const GCC_SLOT: WireKind = WireKind(1);
    /// [`gcc_ring`].
    pub const GCC_RING: WireKind = WireKind(2);
    /// [`native`].
    pub const NATIVE: WireKind = WireKind(3);
    /// [`gcn_queue`].
    pub const GCN_QUEUE: WireKind = WireKind(4);

    /// Every wire, in the order of preference of a host that may choose.
    pub const ALL: [WireKind; 4] = [
        Self::NATIVE,
        Self::GCC_RING,
        Self::GCN_QUEUE,
        Self::GCC_SLOT,
    ];

    /// The name by which users choose it.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::GCC_SLOT => Some("gcc-slot"),
            Self::GCC_RING => Some("gcc-ring"),
            Self::NATIVE => Some("native"),
            Self::GCN_QUEUE => Some("gcn-queue"),
            _ => None,
        }
    }

    /// This kind's bit in [`ImageInfo::wires`](crate::image::ImageInfo::wires).
    #[must_use]
    pub const fn bit(self) -> u32 {
        1 << self.0
    }
}

/// One word in mapped memory by which a sleeping host asks to be woken.
///
/// Only for devices that can wake a host (the `host` device can, through
/// [`HostArch::wake_host`](crate::host_arch::HostArch::wake_host)); on others it is not read,
/// and the host wakes by itself.
///
/// Edge `W1`: the device publishes a request, then [`fence`]s, then loads
/// `sleeping`; the host stores `sleeping`, then fences, then looks for requests once
/// more, then sleeps. Either the host sees the request or the device sees
/// `sleeping`.
///
/// [`fence`]: crate::words::SystemWords::fence
#[repr(C, align(128))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeWord {
    /// Non-zero while the host sleeps.
    pub sleeping: u32,
    /// Keeps other words off this line, which the device reads often.
    pub reserved: [u32; 31],
}

const _: () = {
    assert!(size_of::<WireKind>() == 4 && align_of::<WireKind>() == 4);
    assert!(size_of::<WakeWord>() == 128 && align_of::<WakeWord>() == 128);
    assert!(core::mem::offset_of!(WakeWord, sleeping) == 0);
    assert!(core::mem::offset_of!(WakeWord, reserved) == 4);
};
