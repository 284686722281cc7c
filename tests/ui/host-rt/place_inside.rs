use host_rt::task;

fn inside() -> host_rt::Result<()> {
    task::scope(|tasks| {
        let place = 0u8;
        tasks.host(|| ()).reads(&place).spawn()?;
        Ok(())
    })
}

fn main() {}
