use std::rc::Rc;

use host_rt::task;

fn main() {
    let shared = Rc::new(1);
    task::scope(|tasks| {
        tasks.host(|| *shared).spawn()?;
        Ok(())
    })
    .unwrap();
}
