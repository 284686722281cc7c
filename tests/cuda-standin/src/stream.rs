//! Streams: one thread each, which performs operations in order.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};

use host_rt::device::Queue;
use emu_driver::process::{handle, lock};

use crate::code::{Answer, Code};
use crate::context::Context;
use crate::driver::{contexts, with_context};
use crate::pointers::Out;

/// An operation of a stream.
type Work = Box<dyn FnOnce(&mut dyn Queue) -> Answer + Send>;

/// The state of a context's work.
#[derive(Default)]
pub(crate) struct Progress {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    broken: Option<Code>,
    workers: usize,
}

impl Progress {
    /// The error that all functions return, if one has occurred.
    pub(crate) fn broken(&self) -> Option<Code> {
        lock(&self.state).broken
    }

    /// Sets the error; the first one stays.
    pub(crate) fn break_with(&self, code: Code) {
        lock(&self.state).broken.get_or_insert(code);
        self.changed.notify_all();
    }

    /// Waits until the threads of closed streams have ended, or the context breaks.
    pub(crate) fn wait_for_workers(&self) {
        self.wait_until(|state| state.workers == 0 || state.broken.is_some());
    }

    fn wait_until(&self, reached: impl Fn(&State) -> bool) {
        let mut state = lock(&self.state);
        while !reached(&state) {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut lock(&self.state));
        self.changed.notify_all();
    }
}

/// A stream.
pub(crate) struct Stream {
    progress: Arc<Progress>,
    queued: Mutex<Queued>,
    /// The number of finished operations; written with the lock of `progress`.
    done: AtomicU64,
}

struct Queued {
    /// None once the stream is destroyed: the thread ends after its pending work.
    work: Option<Sender<Work>>,
    /// The number of operations queued so far.
    count: u64,
}

/// A place in a stream: after `count` operations.
#[derive(Clone)]
pub(crate) struct Place {
    stream: Arc<Stream>,
    count: u64,
}

impl Place {
    /// Whether it is reached.
    pub(crate) fn is_reached(&self) -> bool {
        // Acquire pairs with the worker's release: the operations' effects are visible.
        self.stream.done.load(Ordering::Acquire) >= self.count
    }

    /// Waits until it is reached, or never will be.
    pub(crate) fn wait(&self) -> Answer {
        let progress = &self.stream.progress;
        progress.wait_until(|state| state.broken.is_some() || self.is_reached());
        progress.broken().map_or(Ok(()), Err)
    }

    /// `NOT_READY` until it is reached; then the context's error, if there is one.
    pub(crate) fn query(&self) -> Answer {
        if !self.is_reached() {
            return Err(Code::NOT_READY);
        }
        // In this order: a worker breaks the context before it counts the operation that did so. In
        // the other order, a fault between the two checks would count as success.
        self.stream.progress.broken().map_or(Ok(()), Err)
    }
}

impl Stream {
    fn new(context: &Context) -> Answer<Arc<Self>> {
        let (sender, receiver) = channel();
        let stream = Arc::new(Self {
            progress: Arc::clone(&context.progress),
            queued: Mutex::new(Queued {
                work: Some(sender),
                count: 0,
            }),
            done: AtomicU64::new(0),
        });
        let queue = context.device.queue().map_err(|_| Code::OUT_OF_MEMORY)?;
        let worker = Arc::clone(&stream);
        stream.progress.change(|state| state.workers += 1);
        let thread = std::thread::Builder::new()
            .name("stream".to_owned())
            .stack_size(256 << 10)
            .spawn(move || worker.work(queue, &receiver));
        if thread.is_err() {
            stream.progress.change(|state| state.workers -= 1);
            return Err(Code::OUT_OF_MEMORY);
        }
        Ok(stream)
    }

    fn work(&self, mut queue: Box<dyn Queue>, work: &Receiver<Work>) {
        for work in work {
            // Nothing starts in a broken context.
            if self.progress.broken().is_none()
                && let Err(code) = work(&mut *queue)
            {
                self.progress.break_with(code);
            }
            self.progress.change(|_| {
                // Release: see `is_reached`.
                self.done.fetch_add(1, Ordering::Release);
            });
        }
        drop(queue);
        self.progress.change(|state| state.workers -= 1);
    }

    /// Queues an operation. Its error breaks the context.
    pub(crate) fn queue(
        &self,
        work: impl FnOnce(&mut dyn Queue) -> Answer + Send + 'static,
    ) -> Answer {
        let mut queued = lock(&self.queued);
        let sender = queued.work.as_ref().ok_or(Code::INVALID_HANDLE)?;
        sender.send(Box::new(work)).map_err(|_| Code::UNKNOWN)?;
        queued.count += 1;
        Ok(())
    }

    /// The place after everything queued so far.
    pub(crate) fn end(self: &Arc<Self>) -> Place {
        Place {
            stream: Arc::clone(self),
            count: lock(&self.queued).count,
        }
    }

    pub(crate) fn close(&self) {
        lock(&self.queued).work = None;
    }
}

impl Context {
    /// The stream with this handle. There is no default stream: its implicit waits would hide
    /// missing ones.
    pub(crate) fn stream(&self, stream: u64) -> Answer<Arc<Stream>> {
        let found = lock(&self.owned).streams.get(&stream).cloned();
        found.ok_or(Code::INVALID_HANDLE)
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamCreate(stream: Out<u64>, flags: u32) -> u32 {
    with_context("cuStreamCreate", |context| {
        if flags > 1 {
            return Err(Code::INVALID_VALUE);
        }
        let made = Stream::new(context)?;
        let handle = handle();
        lock(&context.owned).streams.insert(handle, made);
        stream.set(handle)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamDestroy_v2(stream: u64) -> u32 {
    with_context("cuStreamDestroy_v2", |context| {
        let destroyed = lock(&context.owned).streams.remove(&stream);
        destroyed.ok_or(Code::INVALID_HANDLE)?.close();
        Ok(())
    })
}

/// Calls of the two functions below. Relaxed: numbers by themselves.
static QUERIES: AtomicU64 = AtomicU64::new(0);
static WAITS: AtomicU64 = AtomicU64::new(0);

/// Not a function of NVIDIA's: the number of calls of `cuStreamQuery`.
#[unsafe(no_mangle)]
extern "C" fn revoff_stand_in_stream_queries() -> u64 {
    QUERIES.load(Ordering::Relaxed)
}

/// Not a function of NVIDIA's: the number of calls of `cuStreamSynchronize`.
#[unsafe(no_mangle)]
extern "C" fn revoff_stand_in_stream_waits() -> u64 {
    WAITS.load(Ordering::Relaxed)
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamQuery(stream: u64) -> u32 {
    QUERIES.fetch_add(1, Ordering::Relaxed);
    with_context("cuStreamQuery", |context| {
        context.stream(stream)?.end().query()
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamSynchronize(stream: u64) -> u32 {
    WAITS.fetch_add(1, Ordering::Relaxed);
    with_context("cuStreamSynchronize", |context| {
        context.stream(stream)?.end().wait()
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamWaitEvent(stream: u64, event: u64, flags: u32) -> u32 {
    with_context("cuStreamWaitEvent", |context| {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let stream = context.stream(stream)?;
        // Events of all contexts are allowed.
        let event = contexts().find_map(|context| context.event(event).ok());
        let place = event.ok_or(Code::INVALID_HANDLE)?.place();
        match place {
            Some(place) => stream.queue(move |_| place.wait()),
            None => Ok(()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A caller that found its context unbroken must not take a later fault for success.
    #[test]
    fn an_operation_that_faulted_is_no_success_for_a_query_that_began_before() {
        let context = Context::new(0).unwrap();
        let stream = Stream::new(&context).unwrap();
        assert_eq!(context.progress.broken(), None);
        stream.queue(|_| Err(Code::LAUNCH_FAILED)).unwrap();
        let end = stream.end();
        while !end.is_reached() {
            std::thread::yield_now();
        }
        assert_eq!(end.query(), Err(Code::LAUNCH_FAILED));
        stream.close();
    }
}
