//! OpenMP's internal control variables, as an image sees them.

/// Value of [`OffloadIcvs::default_device`] where the environment sets none.
pub const DEFAULT_DEVICE_UNSET: i32 = i32::MIN;

/// The image's copy of the control variables, at the symbol
/// [`ADDITIONAL_ICVS`](crate::gomp::ADDITIONAL_ICVS), written by the host after
/// an image is loaded and before its first kernel runs. libgomp names this type
/// `gomp_offload_icvs`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffloadIcvs {
    /// Number of the device that the image runs on.
    pub device_num: i32,
    /// `OMP_DEFAULT_DEVICE`, or [`DEFAULT_DEVICE_UNSET`].
    pub default_device: i32,
    /// `OMP_NUM_TEAMS`, or 0.
    pub nteams: i32,
    /// `OMP_TEAMS_THREAD_LIMIT`, or 0.
    pub teams_thread_limit: i32,
}

const _: () = {
    assert!(size_of::<OffloadIcvs>() == 16 && align_of::<OffloadIcvs>() == 4);
    assert!(core::mem::offset_of!(OffloadIcvs, device_num) == 0);
    assert!(core::mem::offset_of!(OffloadIcvs, default_device) == 4);
    assert!(core::mem::offset_of!(OffloadIcvs, nteams) == 8);
    assert!(core::mem::offset_of!(OffloadIcvs, teams_thread_limit) == 12);
};
