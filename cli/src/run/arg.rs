//! Parameters of a kernel on the command line.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, anyhow, bail, ensure};
use revoff_host::{DeviceBuffer, KernelArg, Params, Runtime, env};

/// Bytes of a buffer that are written to a file at a time.
const PIECE: usize = 1 << 20;

/// A parameter as written on the command line.
#[derive(Clone, Debug)]
pub(crate) enum Arg {
    /// A number: its bytes.
    Value(Vec<u8>),
    /// The address of this many zeros.
    Buffer(u64),
    /// The address of a file's bytes.
    File(PathBuf),
    /// The address of this many zeros, which are written to a file afterwards.
    Out(u64, PathBuf),
    /// The address of a file's bytes, which are written back afterwards.
    InOut(PathBuf),
}

impl FromStr for Arg {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (form, rest) = text
            .split_once(':')
            .context("FORM:VALUE is expected, such as u32:5 or buf:4K")?;
        match form {
            "u8" => integer(rest).map(|n: u8| n.to_ne_bytes().to_vec()),
            "u16" => integer(rest).map(|n: u16| n.to_ne_bytes().to_vec()),
            "u32" => integer(rest).map(|n: u32| n.to_ne_bytes().to_vec()),
            "u64" => integer(rest).map(|n: u64| n.to_ne_bytes().to_vec()),
            "i8" => integer(rest).map(|n: i8| n.to_ne_bytes().to_vec()),
            "i16" => integer(rest).map(|n: i16| n.to_ne_bytes().to_vec()),
            "i32" => integer(rest).map(|n: i32| n.to_ne_bytes().to_vec()),
            "i64" => integer(rest).map(|n: i64| n.to_ne_bytes().to_vec()),
            "f32" => float(rest).map(|n: f32| n.to_ne_bytes().to_vec()),
            "f64" => float(rest).map(|n: f64| n.to_ne_bytes().to_vec()),
            "buf" => return size(rest).map(Self::Buffer),
            "file" => return path(rest).map(Self::File),
            "inout" => return path(rest).map(Self::InOut),
            "out" => {
                let (bytes, rest) = rest
                    .split_once(':')
                    .context("out:BYTES:PATH is expected, such as out:4K:r.bin")?;
                return Ok(Self::Out(size(bytes)?, path(rest)?));
            }
            _ => bail!(
                "no form `{form}`; there are u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 buf file out \
                 inout"
            ),
        }
        .map(Self::Value)
    }
}

/// A decimal number, or a hexadecimal one with `0x`.
fn integer<T>(text: &str) -> anyhow::Result<T>
where
    T: FromStr<Err: std::fmt::Display> + TryFrom<i128>,
{
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    match digits.strip_prefix("0x") {
        // The radix parser takes a sign of its own.
        Some(hex) if hex.starts_with(|c: char| c.is_ascii_hexdigit()) => {
            i128::from_str_radix(hex, 16)
                .ok()
                .and_then(|n| T::try_from(sign * n).ok())
                .with_context(|| format!("`{text}` does not fit its type"))
        }
        _ => text
            .parse()
            .map_err(|error: T::Err| anyhow!("`{text}`: {error}")),
    }
}

fn float<T: FromStr<Err: std::fmt::Display>>(text: &str) -> anyhow::Result<T> {
    text.parse()
        .map_err(|error: T::Err| anyhow!("`{text}`: {error}"))
}

/// A size in bytes.
pub(super) fn size(text: &str) -> anyhow::Result<u64> {
    let bytes = env::parse_bytes(text)
        .with_context(|| format!("`{text}`: a size in bytes is expected, such as 100, 4K or 2M"))?;
    ensure!(bytes > 0, "a buffer takes at least 1 byte");
    Ok(bytes)
}

fn path(text: &str) -> anyhow::Result<PathBuf> {
    ensure!(!text.is_empty(), "a path is missing");
    Ok(text.into())
}

/// Checks that each result goes to a file of its own, which is none of the `code` that runs either.
pub(super) fn check_results<'a>(
    args: &[Arg],
    code: impl Iterator<Item = &'a PathBuf>,
) -> anyhow::Result<()> {
    let mut taken: Vec<_> = code.map(|path| FileId::of(path)).collect();
    for arg in args {
        if let Arg::Out(_, path) | Arg::InOut(path) = arg
            && (path.is_file() || !path.exists())
        {
            let shown = path.display();
            let result = FileId::of(path);
            ensure!(
                !taken.contains(&result),
                "{shown} would be overwritten: it is the image or a part or library of it, has another result, or the \
                 timeline (REVOFF_TRACE): name another file"
            );
            taken.push(result);
        }
    }
    Ok(())
}

/// A file, whichever of its names is given.
#[derive(PartialEq)]
enum FileId {
    /// Its device and inode.
    Existing(u64, u64),
    /// The path of one that does not exist yet.
    New(PathBuf),
}

impl FileId {
    fn of(path: &Path) -> Self {
        if let Ok(found) = fs::metadata(path) {
            return Self::Existing(found.dev(), found.ino());
        }
        let folder = path.parent().map(|folder| Path::new(".").join(folder));
        match (folder.map(|folder| folder.canonicalize()), path.file_name()) {
            (Some(Ok(folder)), Some(name)) => Self::New(folder.join(name)),
            _ => Self::New(path.to_owned()),
        }
    }
}

/// A parameter on the device.
pub(crate) struct Param {
    bytes: Vec<u8>,
    buffer: Option<DeviceBuffer>,
    /// The file to which the buffer is written afterwards.
    out: Option<PathBuf>,
}

impl KernelArg for Param {
    fn push_to(&self, params: &mut Params) {
        params.push(&self.bytes);
    }
}

impl Param {
    /// Copies a parameter to the device.
    pub(crate) fn new(runtime: &Runtime, arg: &Arg) -> anyhow::Result<Self> {
        let (buffer, out) = match arg {
            Arg::Value(bytes) => {
                return Ok(Self {
                    bytes: bytes.clone(),
                    buffer: None,
                    out: None,
                });
            }
            Arg::Buffer(bytes) => (runtime.alloc(*bytes)?, None),
            Arg::File(path) => (read(runtime, path)?, None),
            Arg::Out(bytes, path) => (runtime.alloc(*bytes)?, Some(path.clone())),
            Arg::InOut(path) => (read(runtime, path)?, Some(path.clone())),
        };
        Ok(Self {
            bytes: buffer.address().0.to_ne_bytes().to_vec(),
            buffer: Some(buffer),
            out,
        })
    }

    /// Writes the buffer's file, if it has one. Returns its path and size.
    pub(crate) fn save(&self) -> anyhow::Result<Option<(String, u64)>> {
        let (Some(buffer), Some(path)) = (&self.buffer, &self.out) else {
            return Ok(None);
        };
        let failed = || format!("cannot write {}", path.display());
        let mut file = File::create(path).with_context(failed)?;
        let mut piece = vec![0u8; PIECE];
        for at in (0..buffer.bytes()).step_by(PIECE) {
            let len = (buffer.bytes() - at).min(PIECE as u64) as usize;
            buffer.read(at, &mut piece[..len])?;
            file.write_all(&piece[..len]).with_context(failed)?;
        }
        Ok(Some((path.display().to_string(), buffer.bytes())))
    }
}

fn read(runtime: &Runtime, path: &PathBuf) -> anyhow::Result<DeviceBuffer> {
    check_is_file(path)?;
    let bytes = fs::read(path).with_context(|| unreadable(path))?;
    Ok(runtime.alloc_from(&bytes)?)
}

/// Checks that a path is that of a regular file. Others may be endless, or have the command wait, and a folder is more
/// than an isolated run may get.
pub(super) fn check_is_file(path: &Path) -> anyhow::Result<()> {
    let is_file = fs::metadata(path)
        .with_context(|| unreadable(path))?
        .is_file();
    ensure!(is_file, "{} is no regular file: name one", path.display());
    Ok(())
}

fn unreadable(path: &Path) -> String {
    format!("cannot read {}", path.display())
}

#[cfg(test)]
mod tests {
    use super::Arg;

    fn value(text: &str) -> Vec<u8> {
        match text.parse() {
            Ok(Arg::Value(bytes)) => bytes,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn numbers_have_the_bytes_of_their_type() {
        assert_eq!(value("u8:255"), [255]);
        assert_eq!(value("u32:5"), 5u32.to_ne_bytes());
        assert_eq!(value("i64:-3"), (-3i64).to_ne_bytes());
        assert_eq!(value("u64:0xffffffffffffffff"), u64::MAX.to_ne_bytes());
        assert_eq!(value("i8:-0x80"), i8::MIN.to_ne_bytes());
        assert_eq!(value("f32:1.5"), 1.5f32.to_ne_bytes());
        assert_eq!(value("f64:-1e300"), (-1e300f64).to_ne_bytes());
    }

    #[test]
    fn buffers_have_sizes_and_paths() {
        assert!(matches!("buf:4K".parse(), Ok(Arg::Buffer(4096))));
        assert!(matches!("out:16:a:b".parse(), Ok(Arg::Out(16, p)) if p.as_os_str() == "a:b"));
        assert!(matches!("file:x".parse(), Ok(Arg::File(p)) if p.as_os_str() == "x"));
        assert!(matches!("inout:x".parse(), Ok(Arg::InOut(p)) if p.as_os_str() == "x"));
    }

    #[test]
    fn invalid_values_are_rejected() {
        for text in [
            "5",
            "u32",
            "u32:",
            "u32:-1",
            "u8:256",
            "u32:0x",
            "u32:0x-1",
            "u32:0x+1",
            "i8:0x80",
            "u64:0x10000000000000000",
            "f64:",
            "f64:x",
            "buf:",
            "buf:0",
            "buf:4Q",
            "out:4K",
            "out:4K:",
            "file:",
            "inout:",
            "u128:1",
            ":1",
        ] {
            assert!(text.parse::<Arg>().is_err(), "{text}");
        }
    }
}
