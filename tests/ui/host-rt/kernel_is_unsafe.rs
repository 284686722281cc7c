use revoff_host::{Grid, Kernel, task};

fn unsaid(kernel: &Kernel, grid: Grid) -> revoff_host::Result<()> {
    task::scope(|tasks| {
        tasks.target(kernel, grid, (1u64,)).spawn()?;
        Ok(())
    })
}

fn main() {}
