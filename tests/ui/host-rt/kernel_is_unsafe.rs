use host_rt::{Grid, Kernel, task};

fn unsaid(kernel: &Kernel, grid: Grid) -> host_rt::Result<()> {
    task::scope(|tasks| {
        tasks.target(kernel, grid, (1u64,)).spawn()?;
        Ok(())
    })
}

fn main() {}
