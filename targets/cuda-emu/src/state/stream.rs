//! Streams: one thread each, which performs operations in order.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, Weak};
use std::thread::ThreadId;

use cudarc::driver::sys::CUstream_flags;
use emu_driver::process::lock;

use super::Context;
use super::progress::Progress;
use crate::code::{Answer, Code};

/// The handle of the legacy default stream. A handle of 0 means one of the default streams; the function decides which.
pub const LEGACY: u64 = 1;
/// The handle of the calling thread's default stream.
pub const PER_THREAD: u64 = 2;

pub(crate) const NON_BLOCKING: u32 = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;

/// The highest priority; the lowest is 0.
pub(crate) const HIGHEST_PRIORITY: i32 = -5;

/// An operation in a stream.
enum Work {
    /// It does not begin in a broken context, and its error breaks the context.
    Operation(Box<dyn FnOnce() -> Answer + Send>),
    /// It always runs, with the context's error, if there is one.
    Callback(Box<dyn FnOnce(Code) + Send>),
}

impl Work {
    /// Runs it. A fault of the emulator's own counts as an error: nobody would wait for the end of this thread.
    fn run(self, progress: &Progress) {
        let broken = progress.broken();
        let done = catch_unwind(AssertUnwindSafe(|| match self {
            Self::Operation(_) if broken.is_some() => Ok(()),
            Self::Operation(run) => run(),
            Self::Callback(run) => {
                run(broken.unwrap_or(Code::SUCCESS));
                Ok(())
            }
        }));
        if let Err(code) = done.unwrap_or(Err(Code::UNKNOWN)) {
            progress.break_with(code);
        }
    }
}

/// The streams that a stream waits for without being told to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// It is the legacy default stream: for all blocking streams.
    Legacy,
    /// For the legacy default stream.
    Blocking,
    /// For nothing.
    Alone,
}

/// A stream.
pub(crate) struct Stream {
    pub(crate) handle: u64,
    pub(crate) order: Order,
    pub(crate) priority: i32,
    progress: Arc<Progress>,
    queued: Mutex<Queued>,
    /// The number of finished operations; written by `Progress::advance`.
    done: AtomicU64,
}

struct Queued {
    /// The way to the thread, which begins with the first operation. It ends after its pending work once
    /// the stream is destroyed.
    work: Option<Sender<Work>>,
    is_closed: bool,
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
        if !self.is_reached() {
            progress.wait_until(|| self.is_reached());
        }
        progress.broken().map_or(Ok(()), Err)
    }

    /// `NOT_READY` until it is reached; then the context's error, if there is one.
    pub(crate) fn query(&self) -> Answer {
        if !self.is_reached() {
            return Err(self.stream.progress.broken().unwrap_or(Code::NOT_READY));
        }
        // In this order: a worker breaks the context before it counts the operation that did so. In
        // the other order, a fault between the two checks would count as success.
        self.stream.progress.broken().map_or(Ok(()), Err)
    }
}

impl Stream {
    pub(crate) fn new(context: &Context, handle: u64, order: Order, priority: i32) -> Arc<Self> {
        Arc::new(Self {
            handle,
            order,
            priority,
            progress: Arc::clone(&context.progress),
            queued: Mutex::new(Queued {
                work: None,
                is_closed: false,
                count: 0,
            }),
            done: AtomicU64::new(0),
        })
    }

    fn start(self: &Arc<Self>) -> Answer<Sender<Work>> {
        let (sender, receiver) = channel();
        let worker = Arc::clone(self);
        self.progress.add_worker();
        let thread = std::thread::Builder::new()
            .name("stream".to_owned())
            // Functions of the host run on it.
            .stack_size(2 << 20)
            .spawn(move || worker.work(&receiver));
        if thread.is_err() {
            self.progress.remove_worker();
            return Err(Code::OUT_OF_MEMORY);
        }
        Ok(sender)
    }

    fn work(&self, work: &Receiver<Work>) {
        for work in work {
            work.run(&self.progress);
            self.progress.advance(|| {
                // Release: see `is_reached`.
                self.done.fetch_add(1, Ordering::Release);
            });
        }
        self.progress.remove_worker();
    }

    /// Queues an operation.
    fn queue(self: &Arc<Self>, work: Work) -> Answer {
        let mut queued = lock(&self.queued);
        if queued.is_closed {
            return Err(Code::INVALID_HANDLE);
        }
        let sender = match queued.work.take() {
            Some(sender) => sender,
            None => self.start()?,
        };
        let sent = sender.send(work);
        queued.work = Some(sender);
        sent.map_err(|_| Code::UNKNOWN)?;
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
        let mut queued = lock(&self.queued);
        queued.work = None;
        queued.is_closed = true;
    }
}

/// The default streams of a thread, one in each context that it uses. The end of the thread closes them.
#[derive(Default)]
struct ThreadStreams(Vec<(ThreadId, Weak<Context>)>);

impl Drop for ThreadStreams {
    fn drop(&mut self) {
        for (thread, context) in self.0.drain(..) {
            let Some(context) = context.upgrade() else {
                continue;
            };
            let mut owned = lock(&context.owned);
            if let Some(stream) = owned.thread_streams.remove(&thread) {
                owned.close(stream);
            }
        }
    }
}

thread_local! {
    static THREAD_STREAMS: RefCell<ThreadStreams> = RefCell::default();
}

/// Closes a thread's default stream in a context when the thread ends. A thread that makes it while it ends
/// leaves it to the context.
fn close_at_the_end_of(thread: ThreadId, context: &Weak<Context>) {
    let _ = THREAD_STREAMS.try_with(|streams| {
        streams.borrow_mut().0.push((thread, Weak::clone(context)));
    });
}

impl Context {
    /// The stream with this handle; `default` is that of 0.
    pub(crate) fn stream(&self, stream: u64, default: u64) -> Answer<Arc<Stream>> {
        let mut owned = lock(&self.owned);
        let stream = if stream == 0 { default } else { stream };
        match stream {
            LEGACY => {
                let legacy = owned
                    .legacy
                    .get_or_insert_with(|| Stream::new(self, LEGACY, Order::Legacy, 0));
                Ok(Arc::clone(legacy))
            }
            PER_THREAD => {
                let thread = std::thread::current().id();
                let new = || {
                    close_at_the_end_of(thread, &self.this);
                    Stream::new(self, PER_THREAD, Order::Blocking, 0)
                };
                Ok(Arc::clone(
                    owned.thread_streams.entry(thread).or_insert_with(new),
                ))
            }
            stream => owned
                .streams
                .get(&stream)
                .cloned()
                .ok_or(Code::INVALID_HANDLE),
        }
    }

    /// The places that the next operation of a stream waits for because of its kind. Source: the CUDA
    /// driver API, "Stream synchronization behavior".
    fn implied(&self, stream: &Arc<Stream>) -> Vec<Place> {
        let owned = lock(&self.owned);
        let places: Vec<_> = match stream.order {
            Order::Legacy => {
                let streams = owned.streams.values().chain(&owned.ending);
                let streams = streams.chain(owned.thread_streams.values());
                let blocking = streams.filter(|other| other.order == Order::Blocking);
                blocking.map(Stream::end).collect()
            }
            Order::Blocking => owned.legacy.iter().map(Stream::end).collect(),
            Order::Alone => Vec::new(),
        };
        places
            .into_iter()
            .filter(|place| !place.is_reached())
            .collect()
    }

    /// Queues an operation. Its error breaks the context.
    pub(crate) fn queue(
        &self,
        stream: &Arc<Stream>,
        work: impl FnOnce() -> Answer + Send + 'static,
    ) -> Answer {
        let implied = self.implied(stream);
        stream.queue(Work::Operation(Box::new(move || {
            implied.iter().try_for_each(Place::wait)?;
            work()
        })))
    }

    /// Queues a callback, which also runs after an error.
    pub(crate) fn queue_callback(
        &self,
        stream: &Arc<Stream>,
        run: impl FnOnce(Code) + Send + 'static,
    ) -> Answer {
        let implied = self.implied(stream);
        let progress = Arc::clone(&self.progress);
        stream.queue(Work::Callback(Box::new(move |code| {
            // An error ends the waits.
            let waited = implied.iter().try_for_each(Place::wait);
            let code = waited.err().or(progress.broken()).unwrap_or(code);
            run(code);
        })))
    }

    /// Whether everything that precedes the next operation of a stream is done.
    pub(crate) fn query(&self, stream: &Arc<Stream>) -> Answer {
        if self.implied(stream).is_empty() {
            stream.end().query()
        } else {
            Err(Code::NOT_READY)
        }
    }

    /// The place after everything that precedes the next operation of a stream.
    pub(crate) fn end(&self, stream: &Arc<Stream>) -> Answer<Place> {
        if !self.implied(stream).is_empty() {
            self.queue(stream, || Ok(()))?;
        }
        Ok(stream.end())
    }
}

/// Calls of `cuStreamQuery`. Relaxed: a number by itself.
pub(crate) static QUERIES: AtomicU64 = AtomicU64::new(0);
/// Calls of `cuStreamSynchronize`. Relaxed: a number by itself.
pub(crate) static WAITS: AtomicU64 = AtomicU64::new(0);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::gpu::{Gpu, GpuOptions};

    fn context() -> Arc<Context> {
        let options = GpuOptions {
            machine: ptx_emu::Options {
                memory: 1 << 20,
                ..ptx_emu::Options::default()
            },
            is_strict: true,
            report: Arc::new(|_| ()),
        };
        Context::new(Arc::new(Gpu::new(0, options).unwrap()), 0, true)
    }

    /// The default stream of a thread does not outlive the thread, but its work does.
    #[test]
    fn the_end_of_a_thread_closes_its_stream() {
        let context = context();
        for number in 0..20 {
            let thread = {
                let context = Arc::clone(&context);
                std::thread::spawn(move || {
                    let stream = context.stream(0, PER_THREAD).unwrap();
                    context.queue(&stream, || Ok(())).unwrap();
                    assert_eq!(lock(&context.owned).thread_streams.len(), 1, "{number}");
                    stream
                })
            };
            let stream = thread.join().unwrap();
            assert!(lock(&context.owned).thread_streams.is_empty());
            stream.end().wait().unwrap();
        }
        let later = context.stream(0, PER_THREAD).unwrap();
        context.queue(&later, || Ok(())).unwrap();
        later.end().wait().unwrap();
        assert_eq!(lock(&context.owned).thread_streams.len(), 1);
        assert!(lock(&context.owned).ending.len() <= 2);
        later.close();
    }

    /// A caller that found its context unbroken must not take a later fault for success.
    #[test]
    fn an_operation_that_faulted_is_no_success_for_a_query_that_began_before() {
        let context = context();
        let stream = context.stream(0, LEGACY).unwrap();
        assert_eq!(context.progress.broken(), None);
        context.queue(&stream, || Err(Code::LAUNCH_FAILED)).unwrap();
        let end = stream.end();
        while !end.is_reached() {
            std::thread::yield_now();
        }
        assert_eq!(end.query(), Err(Code::LAUNCH_FAILED));
        stream.close();
    }
}
