use revoff_host::{Runtime, task};

fn freed(runtime: &Runtime) -> revoff_host::Result<()> {
    let buffer = runtime.alloc(8)?;
    task::scope(|tasks| {
        tasks.host(|| buffer.bytes()).spawn()?;
        drop(buffer);
        Ok(())
    })
}

fn main() {}
