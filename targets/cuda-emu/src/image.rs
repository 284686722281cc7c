//! The PTX in what programs give to the driver.

use std::cell::RefCell;
use std::ffi::{CStr, c_void};

use targets::device_arch::{Sm, Variant};
use targets::fatbin::{self, Kind, Wrapper};

use crate::code::{Answer, Code};

/// The start of what the linker makes: this, the size of all, the number of texts, and for each the length
/// of its name, of itself, and both. Programs do not look into it.
const LINKED: &[u8; 8] = b"\x7fRVLINK1";

/// A text and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) text: String,
}

thread_local! {
    /// The name of images that this thread loads.
    static NAME: RefCell<String> = RefCell::new("image".to_owned());
}

/// Calls `load`, which loads an image that messages call `name`: the driver's functions get none.
pub fn with_image_name<T>(name: &str, load: impl FnOnce() -> T) -> T {
    let before = NAME.replace(name.to_owned());
    let loaded = load();
    NAME.set(before);
    loaded
}

/// Why there is no PTX.
pub(crate) struct NoPtx {
    pub(crate) code: Code,
    pub(crate) reason: String,
}

impl NoPtx {
    pub(crate) fn new(code: Code, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { code, reason }
    }
}

/// The contents of a linked image.
pub(crate) fn linked(parts: &[Part]) -> Vec<u8> {
    let number = |number: usize| (number as u64).to_le_bytes();
    let mut bytes = LINKED.to_vec();
    bytes.extend(number(0));
    bytes.extend(number(parts.len()));
    for part in parts {
        bytes.extend(number(part.name.len()));
        bytes.extend(number(part.text.len()));
        bytes.extend(part.name.as_bytes());
        bytes.extend(part.text.as_bytes());
    }
    let size = number(bytes.len());
    bytes[LINKED.len()..][..8].copy_from_slice(&size);
    bytes
}

/// The texts of what follows [`LINKED`].
fn from_linked(bytes: &[u8]) -> Option<Vec<Part>> {
    let mut rest = bytes;
    let mut take = |len: usize| {
        let (taken, left) = rest.split_at_checked(len)?;
        rest = left;
        Some(taken)
    };
    let mut texts = Vec::new();
    take(8)?;
    let count = number(take(8)?)?;
    for _ in 0..count {
        let (name, text) = (number(take(8)?)?, number(take(8)?)?);
        let (name, text) = (take(name)?.to_vec(), take(text)?.to_vec());
        texts.push(Part {
            name: String::from_utf8(name).ok()?,
            text: String::from_utf8(text).ok()?,
        });
    }
    Some(texts)
}

fn number(bytes: &[u8]) -> Option<usize> {
    u64::from_le_bytes(bytes.try_into().ok()?).try_into().ok()
}

/// The texts of an image for an `sm_NN`, of which the size is unknown.
///
/// # Safety
/// `image` is null, a C string, or a binary that has its length in it.
pub(crate) unsafe fn parts_at(sm: u32, image: *const c_void) -> Result<Vec<Part>, NoPtx> {
    if image.is_null() {
        return Err(NoPtx::new(Code::INVALID_VALUE, "the image is null"));
    }
    // A byte at a time: a short text ends before.
    let has_start = |start: &[u8]| {
        let mut bytes = start.iter().enumerate();
        // SAFETY: the caller's promise; the bytes before were those of `start`, and none is the end.
        bytes.all(|(at, &byte)| unsafe { image.cast::<u8>().add(at).read() } == byte)
    };
    if has_start(LINKED) {
        // SAFETY: the caller's promise; only `linked` makes such a start, and its size follows.
        let size = unsafe { image.cast::<[u8; 16]>().read() };
        let size = number(&size[8..]).unwrap_or(0);
        // SAFETY: as above.
        let bytes = unsafe { std::slice::from_raw_parts(image.cast::<u8>(), size) };
        return parts_of(sm, "image", bytes);
    }
    if has_start(b"\x7fELF") {
        return Err(machine_code());
    }
    if has_start(&Wrapper::MAGIC.to_ne_bytes()) {
        // SAFETY: the caller's promise: a wrapper, whose fatbin is one of the caller's.
        let wrapped = unsafe { image.cast::<Wrapper>().read_unaligned() }.data;
        // SAFETY: as above.
        return unsafe { parts_at(sm, wrapped) };
    }
    if has_start(&fatbin::MAGIC) {
        // SAFETY: the caller's promise: the header has its size in it, and that of the rest.
        let header = unsafe { image.cast::<[u8; fatbin::HEADER]>().read() };
        let size = fatbin::whole_size(&header).map_err(damaged)?;
        // SAFETY: as above.
        let bytes = unsafe { std::slice::from_raw_parts(image.cast::<u8>(), size) };
        return parts_of(sm, &NAME.with_borrow(String::clone), bytes);
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(image.cast()) };
    parts_of(sm, &NAME.with_borrow(String::clone), text.to_bytes())
}

fn machine_code() -> NoPtx {
    let reason = "the image has machine code alone, and the emulated GPU runs PTX: have the compiler keep \
                  it (nvcc: -gencode arch=compute_70,code=compute_70)";
    NoPtx::new(Code::NO_BINARY_FOR_GPU, reason)
}

fn damaged(error: fatbin::ReadError) -> NoPtx {
    NoPtx::new(Code::INVALID_IMAGE, error.to_string())
}

/// The text in a fatbin: that for the newest GPU which is not newer than this one.
fn text_of_fatbin(sm: u32, bytes: &[u8]) -> Result<String, NoPtx> {
    let entries = fatbin::read(bytes).map_err(damaged)?;
    let sm = Sm {
        number: sm,
        variant: Variant::Plain,
    };
    let is_text = |entry: &&fatbin::Entry<'_>| {
        matches!(entry.kind, Kind::PTX | Kind::RELOCATABLE_PTX) && entry.sm.ptx_runs_on(sm)
    };
    let texts = entries.iter().filter(is_text);
    let best = texts
        .max_by_key(|entry| entry.sm.number)
        .ok_or_else(machine_code)?;
    let text = best.decompress().map_err(damaged)?;
    let text = String::from_utf8(text.into_owned());
    let text = text.map_err(|error| NoPtx::new(Code::INVALID_IMAGE, error.to_string()))?;
    if text.contains(".version") {
        return Ok(text);
    }
    // Some of NVIDIA's tools drop the first line.
    let (major, minor) = best.code_version;
    Ok(format!(".version {major}.{minor}\n{text}"))
}

/// The texts of an image called `name` for an `sm_NN`.
pub(crate) fn parts_of(sm: u32, name: &str, bytes: &[u8]) -> Result<Vec<Part>, NoPtx> {
    if bytes.starts_with(LINKED) {
        let parts = from_linked(&bytes[LINKED.len()..]);
        return parts.ok_or_else(|| NoPtx::new(Code::INVALID_IMAGE, "the image is damaged"));
    }
    if bytes.starts_with(b"\x7fELF") {
        return Err(machine_code());
    }
    if fatbin::is_fatbin(bytes) {
        let (name, text) = (name.to_owned(), text_of_fatbin(sm, bytes)?);
        return Ok(vec![Part { name, text }]);
    }
    let end = bytes
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(bytes.len());
    let text = str::from_utf8(&bytes[..end])
        .ok()
        .filter(|text| text.contains(".version"));
    let Some(text) = text else {
        return Err(NoPtx::new(
            Code::INVALID_IMAGE,
            format!("{name}: neither PTX nor a fatbin"),
        ));
    };
    Ok(vec![Part {
        name: name.to_owned(),
        text: text.to_owned(),
    }])
}

/// The result of loading, without the reason.
pub(crate) fn code<T>(result: Result<T, NoPtx>, say: impl FnOnce(&str)) -> Answer<T> {
    result.map_err(|NoPtx { code, reason }| {
        say(&reason);
        code
    })
}
