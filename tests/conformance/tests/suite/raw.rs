//! Calls of `GOMP_target_ext` with arguments chosen by the test.

use conformance_calls::{NULL, RawCall, VALUE};
use revoff_host::shared_abi::gomp::{GOMP_DEVICE_HOST_FALLBACK, REVOFF_FLAG_STATUS};
use revoff_host::shared_abi::map_kind::MapKind;
use revoff_host::shared_abi::status::Status;
use revoff_host::{LaunchError, Report};

use crate::session::{Session, read};

/// The location of the bytes that a call maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// In device memory, which the host reaches.
    Memory,
    /// On the stack of the device thread, which it does not.
    Stack,
    /// On a stack with more than the usual room.
    DeepStack,
}

/// An argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    /// Its offset in the data; [`NULL`], or a value with [`VALUE`].
    pub(crate) offset: u64,
    /// Its size.
    pub(crate) size: u64,
    /// Its kind.
    pub(crate) kind: MapKind,
}

impl Form {
    /// `size` bytes from byte `offset` of the data on.
    pub(crate) fn at(offset: usize, size: usize, kind: MapKind) -> Self {
        Self {
            offset: offset as u64,
            size: size as u64,
            kind,
        }
    }

    /// A value.
    pub(crate) fn value(value: u64) -> Self {
        Self {
            offset: VALUE | value,
            size: 8,
            kind: MapKind::FIRSTPRIVATE_INT,
        }
    }

    /// An argument at address 0.
    pub(crate) fn null(size: u64, kind: MapKind) -> Self {
        Self {
            offset: NULL,
            size,
            kind,
        }
    }
}

/// The outcome of a call.
#[derive(Debug)]
pub(crate) struct Done {
    /// The outcome of the launch.
    pub(crate) result: Result<Report, LaunchError>,
    /// The data afterwards.
    pub(crate) data: Vec<u8>,
    /// The status that the caller got.
    pub(crate) status: Status,
}

impl Done {
    /// The text of the launch's error.
    pub(crate) fn error(&self) -> String {
        match &self.result {
            Err(error) => error.to_string(),
            Ok(_) => panic!("the launch ended well"),
        }
    }
}

/// The function words of the suite's image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words {
    pub(crate) probe: u64,
    pub(crate) unregistered: u64,
    pub(crate) act: u64,
    /// The runtime's own device memory.
    pub(crate) reserved: [u64; 2],
    /// Lanes that a slot of its wire has room for.
    pub(crate) lanes: u32,
}

/// Asks the image for them.
pub(crate) fn words(session: &Session) -> Words {
    let words = session.zeroed::<u64>(6);
    session.run("function_words", (1, 1), &[&words]).unwrap();
    let words = read::<u64>(&words);
    Words {
        probe: words[0],
        unregistered: words[1],
        act: words[2],
        reserved: [words[3], words[4]],
        lanes: words[5] as u32,
    }
}

/// Calls `probe` with `forms` of `data`.
pub(crate) fn perform(session: &Session, place: Where, data: &[u8], forms: &[Form]) -> Done {
    let data = session.filled(data);
    let func = words(session).probe;
    let call = RawCall {
        func,
        device: GOMP_DEVICE_HOST_FALLBACK,
        flags: REVOFF_FLAG_STATUS,
        ..RawCall::default()
    };
    perform_as(session, place, &data, forms, call)
}

/// Like `perform`, with data that is on the device already, and with the function, the device and
/// the flags of `call`.
pub(crate) fn perform_as(
    session: &Session,
    place: Where,
    data: &revoff_host::DeviceBuffer,
    forms: &[Form],
    mut call: RawCall,
) -> Done {
    let base = if place == Where::Memory {
        data.address().0
    } else {
        0
    };
    let address = |form: &Form| match form.offset {
        // The kernels that use their stack know both themselves.
        offset if place != Where::Memory => offset,
        NULL => 0,
        offset if offset & VALUE != 0 => offset & !VALUE,
        offset => base + offset,
    };
    let addrs = session.filled(&forms.iter().map(address).collect::<Vec<_>>());
    let sizes = session.filled(&forms.iter().map(|form| form.size).collect::<Vec<_>>());
    let kinds = session.filled(&forms.iter().map(|form| form.kind.0).collect::<Vec<_>>());
    let status = session.filled(&[NOT_WRITTEN]);
    call.count = forms.len() as u64;
    call.addrs = addrs.address().0;
    call.sizes = sizes.address().0;
    call.kinds = kinds.address().0;
    call.status = status.address().0;
    call.data = data.address().0;
    call.len = data.bytes();
    let call = session.filled(&[call]);
    let kernel = match place {
        Where::Memory => "call_raw",
        Where::Stack => "call_stack",
        Where::DeepStack => "call_deep_stack",
    };
    let result = session.run(kernel, (1, 1), &[&call]);
    Done {
        result,
        data: read(data),
        status: Status(read::<u32>(&status)[0]),
    }
}

/// The initial value of a status that is not written.
pub(crate) const NOT_WRITTEN: u32 = u32::MAX;
