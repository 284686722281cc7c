use std::rc::Rc;

use revoff_host::task;

fn main() {
    let shared = Rc::new(1);
    task::scope(|tasks| {
        tasks.host(|| *shared).spawn()?;
        Ok(())
    })
    .unwrap();
}
