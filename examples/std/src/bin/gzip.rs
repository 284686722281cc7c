//! gzip [-d] < INPUT > OUTPUT: compresses, or decompresses with -d.

use std::io::{self, Read, Write};
use std::{env, error};

use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder};

fn main() -> Result<(), Box<dyn error::Error>> {
    let mut arguments = env::args().skip(1);
    let mut input: Box<dyn Read> = match arguments.next().as_deref() {
        None => Box::new(GzEncoder::new(io::stdin().lock(), Compression::default())),
        Some("-d") => Box::new(GzDecoder::new(io::stdin().lock())),
        Some(other) => return Err(format!("`{other}`: usage: gzip [-d] < INPUT > OUTPUT").into()),
    };
    let mut out = io::stdout().lock();
    let mut buffer = vec![0; 1 << 18];
    loop {
        match input.read(&mut buffer)? {
            0 => return Ok(out.flush()?),
            len => out.write_all(&buffer[..len])?,
        }
    }
}
