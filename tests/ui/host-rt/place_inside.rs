use revoff_host::task;

fn inside() -> revoff_host::Result<()> {
    task::scope(|tasks| {
        let place = 0u8;
        tasks.host(|| ()).reads(&place).spawn()?;
        Ok(())
    })
}

fn main() {}
