//! Kernels that run on after their queues were destroyed. A GPU ends them; a thread cannot be
//! ended, so the resources that a kernel may use are freed only after it has ended.

use std::sync::{Arc, Mutex};

use emu_driver::process::{handle, lock};

/// Queues that were left behind, and the resources kept for them.
pub(crate) struct Zombies<T>(Mutex<Vec<Zombie<T>>>);

struct Zombie<T> {
    queue: u64,
    /// It cannot use newer resources.
    since: u64,
    kept: Vec<Arc<T>>,
}

impl<T> Default for Zombies<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Zombies<T> {
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// Adds a queue that is left behind.
    pub(crate) fn add(&self, queue: u64) {
        lock(&self.0).push(Zombie {
            queue,
            since: handle(),
            kept: Vec::new(),
        });
    }

    /// Removes a queue that has ended. Resources kept only for it are dropped.
    pub(crate) fn remove(&self, queue: u64) {
        let mut zombies = lock(&self.0);
        let ended = zombies.extract_if(.., |zombie| zombie.queue == queue);
        let ended: Vec<_> = ended.collect();
        drop(zombies);
        drop(ended);
    }

    /// Drops `thing` once it is unused. It was created when the next handle was `made`.
    pub(crate) fn drop_later(&self, made: u64, thing: T) {
        let thing = Arc::new(thing);
        let mut zombies = lock(&self.0);
        let older = zombies.iter_mut().filter(|zombie| made < zombie.since);
        older.for_each(|zombie| zombie.kept.push(Arc::clone(&thing)));
        drop(zombies);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Weak;

    use super::*;

    #[test]
    fn what_a_kernel_may_use_stays_until_it_has_ended() {
        let zombies = Zombies::default();
        let drop_later = |made| {
            let thing = Arc::new(());
            let weak = Arc::downgrade(&thing);
            zombies.drop_later(made, thing);
            weak
        };
        let is_there = |thing: &Weak<()>| thing.strong_count() > 0;
        assert!(!is_there(&drop_later(handle())), "nobody has it");
        let (before, first) = (handle(), 1);
        zombies.add(first);
        let (between, second) = (handle(), 2);
        zombies.add(second);
        let (of_both, of_second) = (drop_later(before), drop_later(between));
        assert!(!is_there(&drop_later(handle())), "nobody knows it");
        assert!(is_there(&of_both) && is_there(&of_second));
        zombies.remove(second);
        assert!(is_there(&of_both) && !is_there(&of_second));
        zombies.remove(first);
        assert!(!is_there(&of_both));
    }
}
