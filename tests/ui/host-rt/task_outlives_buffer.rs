use revoff_host::{Grid, Kernel, Runtime, task};

fn inside(runtime: &Runtime, kernel: &Kernel, grid: Grid) -> revoff_host::Result<()> {
    task::scope(|tasks| {
        let buffer = runtime.alloc(8)?;
        unsafe { tasks.target(kernel, grid, (&buffer,)) }.spawn()?;
        Ok(())
    })
}

fn main() {}
