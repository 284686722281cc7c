use revoff_host::task;

fn main() {
    let mut kept = None;
    task::scope(|tasks| {
        kept = Some(tasks.host(|| 1).spawn()?);
        Ok(())
    })
    .unwrap();
}
