use host_rt::{Grid, Kernel, Runtime, task};

fn inside(runtime: &Runtime, kernel: &Kernel, grid: Grid) -> host_rt::Result<()> {
    task::scope(|tasks| {
        let buffer = runtime.alloc(8)?;
        unsafe { tasks.target(kernel, grid, (&buffer,)) }.spawn()?;
        Ok(())
    })
}

fn main() {}
