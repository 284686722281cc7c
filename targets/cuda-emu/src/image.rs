//! The PTX in what programs give to the driver.

use std::cell::RefCell;
use std::ffi::{CStr, c_void};

use crate::code::{Answer, Code};
use crate::gpu::Gpu;

/// The start of what the linker makes: this, the number of texts, and for each the length of its name,
/// of itself, and both. Programs do not look into it.
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
    let mut bytes = LINKED.to_vec();
    let number = |number: usize| (number as u64).to_le_bytes();
    bytes.extend(number(parts.len()));
    for part in parts {
        bytes.extend(number(part.name.len()));
        bytes.extend(number(part.text.len()));
        bytes.extend(part.name.as_bytes());
        bytes.extend(part.text.as_bytes());
    }
    bytes
}

/// Reads at an address of the caller's.
struct Reader(*const u8);

impl Reader {
    /// The next bytes.
    ///
    /// # Safety
    /// There are so many.
    unsafe fn take<'a>(&mut self, len: usize) -> &'a [u8] {
        // SAFETY: the caller's promise.
        let bytes = unsafe { std::slice::from_raw_parts(self.0, len) };
        self.0 = self.0.wrapping_add(len);
        bytes
    }

    /// # Safety
    /// There is a number.
    unsafe fn number(&mut self) -> usize {
        let mut number = [0; 8];
        // SAFETY: the caller's promise.
        number.copy_from_slice(unsafe { self.take(8) });
        u64::from_le_bytes(number) as usize
    }

    /// # Safety
    /// There is a result of [`linked`] after its start.
    unsafe fn linked(&mut self) -> Option<Vec<Part>> {
        // SAFETY: the caller's promise, for all numbers and texts.
        unsafe {
            let count = self.number();
            let part = |reader: &mut Self| {
                let (name, text) = (reader.number(), reader.number());
                let (name, text) = (reader.take(name).to_vec(), reader.take(text).to_vec());
                Some(Part {
                    name: String::from_utf8(name).ok()?,
                    text: String::from_utf8(text).ok()?,
                })
            };
            (0..count).map(|_| part(self)).collect()
        }
    }
}

/// The texts of an image, of which the size is unknown.
///
/// # Safety
/// `image` is null, a C string, or a binary that has its length in it.
pub(crate) unsafe fn parts_at(gpu: &Gpu, image: *const c_void) -> Result<Vec<Part>, NoPtx> {
    if image.is_null() {
        return Err(NoPtx::new(Code::INVALID_VALUE, "the image is null"));
    }
    // SAFETY: the caller's promise. A byte at a time: a short text ends before.
    let has_start = |start: &[u8]| {
        (0..start.len()).all(|at| unsafe { image.cast::<u8>().add(at).read() } == start[at])
    };
    if has_start(LINKED) {
        let mut reader = Reader(image.cast::<u8>().wrapping_add(LINKED.len()));
        // SAFETY: the caller's promise; only `linked` makes such a start.
        let parts = unsafe { reader.linked() };
        return parts.ok_or_else(|| NoPtx::new(Code::INVALID_IMAGE, "the image is damaged"));
    }
    if has_start(b"\x7fELF") {
        return Err(machine_code());
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(image.cast()) };
    parts_of(gpu, &NAME.with_borrow(String::clone), text.to_bytes())
}

fn machine_code() -> NoPtx {
    let reason = "the image is machine code, and the emulated GPU runs PTX: have the compiler keep it \
                  (nvcc: -gencode arch=compute_70,code=compute_70)";
    NoPtx::new(Code::NO_BINARY_FOR_GPU, reason)
}

/// The texts of an image called `name`.
pub(crate) fn parts_of(_gpu: &Gpu, name: &str, bytes: &[u8]) -> Result<Vec<Part>, NoPtx> {
    if bytes.starts_with(b"\x7fELF") {
        return Err(machine_code());
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
