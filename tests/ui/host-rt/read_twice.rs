use revoff_host::{DeviceBuffer, task};

fn twice(buffer: &DeviceBuffer) -> revoff_host::Result<()> {
    let mut data = [0u64; 8];
    task::scope(|tasks| {
        tasks.read(buffer, 0, &mut data).spawn()?;
        tasks.host(|| data[0]).spawn()?;
        Ok(())
    })
}

fn main() {}
