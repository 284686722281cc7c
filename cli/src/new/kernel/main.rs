use std::{fs::File, os::unix::fs::FileExt};

use calls::{ReadChunk, Sum};
use revoff::{Functions, Grid, Image, Runtime};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = File::open("Cargo.toml")?;
    let mut functions = Functions::new();
    functions.add(ReadChunk::try_bind(move |offset, buffer: &mut [u8]| {
        file.read_at(buffer, offset).map(|n| n as u32)
    }))?;
    let runtime = Runtime::open("host")?;
    let program = runtime.load(&Image::open(env!("REVOFF_IMAGE_KERNEL"))?, &functions)?;
    let mut total = 0;
    program.bind::<Sum>()?.launch(Grid { teams: 1, threads: 1 }, &mut total)?;
    println!("{total}");
    Ok(())
}
