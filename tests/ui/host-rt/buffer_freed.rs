use host_rt::{Runtime, task};

fn freed(runtime: &Runtime) -> host_rt::Result<()> {
    let buffer = runtime.alloc(8)?;
    task::scope(|tasks| {
        tasks.host(|| buffer.bytes()).spawn()?;
        drop(buffer);
        Ok(())
    })
}

fn main() {}
