//! Starts and ends MPI.

use std::env;
use std::ffi::c_int;
use std::mem::{self, ManuallyDrop};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::{self, Builder, JoinHandle};
use std::time::{Duration, Instant};

use mpi::Threading;
use mpi::environment::{Universe, library_version};
use mpi::ffi;
use mpi::topology::Communicator as _;
use mpi::traits::AsRaw;
use mpi_calls::MAX_TAG;
use revoff_fn::{BoxFuture, FunctionFailed};

use crate::communication::Communication;
use crate::communicator::Communicator;
use crate::drain::drain;
use crate::error::MpiError;
use crate::gpu_memory::{GpuMemory, Setting};
use crate::open_requests::OpenRequests;
use crate::progress::{Command, Rest, is_done, run};
use crate::receives::Receives;
use crate::ticket_queue::TicketQueue;

/// The launchers' variables for the number of ranks.
const SIZES: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];

/// How long the thread that serves a call polls it, before it hands the call over: a message between processes takes
/// microseconds, and a hand-over to a thread that sleeps takes longer.
const INLINE: Duration = Duration::from_micros(200);

/// MPI in this process.
///
/// A program that ends without [`finish`](Self::finish) leaves MPI as it is, and `mpirun` ends the other ranks.
pub struct Mpi {
    thread: JoinHandle<Result<(), MpiError>>,
    pub(crate) shared: Arc<Shared>,
}

/// State shared by all calls.
pub(crate) struct Shared {
    pub(crate) communicator: Communicator,
    /// The memory of GPUs that MPI accesses.
    pub(crate) gpu_memory: GpuMemory,
    /// Whether all threads may call MPI.
    is_thread_multiple: bool,
    pub(crate) thread: Sender<Command>,
    pub(crate) receives: Arc<Receives>,
    /// Collective functions.
    pub(crate) collectives: Arc<TicketQueue>,
    /// Locked by the serving thread that polls its call for a moment. One does: a function that waits keeps a serving
    /// thread, and many of them would delay other calls.
    inline: Mutex<()>,
    open_requests: Mutex<OpenRequests>,
    /// Locked for reading while a thread calls MPI, and for writing while MPI begins to end.
    calling: RwLock<()>,
    has_ended: AtomicBool,
}

impl Mpi {
    /// Starts MPI. All ranks do, once.
    ///
    /// Without `MPI_THREAD_MULTIPLE`, the program does not call MPI itself: a thread of this crate does.
    ///
    /// # Errors
    /// MPI is started already, another MPI's `mpirun` has started the program, or MPI allows no threads.
    pub fn start() -> Result<Self, MpiError> {
        Self::start_with(Threading::Multiple)
    }

    /// Starts MPI such that one thread makes all calls, for an MPI that is slow, or wrong, with several.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn start_on_one_thread() -> Result<Self, MpiError> {
        Self::start_with(Threading::Funneled)
    }

    fn start_with(threading: Threading) -> Result<Self, MpiError> {
        let setting = Setting::read()?;
        let (to_thread, messages) = channel();
        let (started, is_started) = channel();
        // Without MPI_THREAD_MULTIPLE, only the thread that starts MPI may call it.
        let thread = Builder::new().name("mpi".to_owned());
        let thread = thread
            .spawn(move || match begin(threading) {
                Ok(Started {
                    universe,
                    communicator,
                    last,
                    is_thread_multiple,
                }) => {
                    let receives = Receives::new(communicator);
                    let shared = Arc::new(Shared {
                        communicator,
                        receives: Arc::clone(&receives),
                        collectives: Arc::default(),
                        gpu_memory: GpuMemory::query(setting),
                        is_thread_multiple,
                        thread: to_thread,
                        inline: Mutex::default(),
                        open_requests: Mutex::default(),
                        calling: RwLock::default(),
                        has_ended: AtomicBool::new(false),
                    });
                    let weak = Arc::downgrade(&shared);
                    let _ = started.send(Ok(shared));
                    serve(universe, last, &messages, &receives, || weak.upgrade())
                }
                Err(error) => {
                    let _ = started.send(Err(error));
                    Ok(())
                }
            })
            .map_err(MpiError::Thread)?;
        let shared = is_started.recv().map_err(|_| MpiError::Panicked)??;
        Ok(Self { thread, shared })
    }

    /// This process's rank.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.shared.communicator.rank
    }

    /// The number of ranks.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.shared.communicator.size
    }

    /// Whether all threads of the program may call MPI themselves (`MPI_THREAD_MULTIPLE`).
    #[must_use]
    pub fn is_thread_multiple(&self) -> bool {
        self.shared.is_thread_multiple
    }

    /// Ends MPI, when all ranks have called this. Requests that no kernel has waited for are given up, and messages that
    /// no kernel has received are discarded.
    ///
    /// # Errors
    /// The thread that calls MPI has panicked, MPI fails, or there is no memory for a message that is discarded. MPI has
    /// not ended then: end the program, so that `mpirun` ends the others.
    pub fn finish(self) -> Result<(), MpiError> {
        let sent = self.shared.thread.send(Command::Finish);
        sent.map_err(|_| MpiError::Panicked)?;
        self.thread.join().map_err(|_| MpiError::Panicked)?
    }
}

impl Shared {
    /// Runs the body of a call, while MPI runs. The error names the rank: ranks have one output.
    pub(crate) async fn call<T>(
        &self,
        body: impl Future<Output = Result<T, MpiError>>,
    ) -> Result<T, FunctionFailed> {
        let result = match self.check() {
            Ok(()) => body.await,
            Err(error) => Err(error),
        };
        let Communicator { rank, size, .. } = self.communicator;
        result.map_err(|error| FunctionFailed::new(format_args!("rank {rank} of {size}: {error}")))
    }

    /// Polls a call until it is finished: here, or on the thread that polls.
    pub(crate) fn run(&self, mut call: BoxFuture<'static, ()>) {
        let _calling = self.calling.read().unwrap_or_else(PoisonError::into_inner);
        // After the end, a call fails at once, or when its data is there, without MPI.
        let is_finished = if self.check().is_err() {
            is_done(&mut call)
        } else if !self.is_thread_multiple {
            false
        } else if let Ok(_inline) = self.inline.try_lock() {
            self.is_done_soon(&mut call)
        } else {
            is_done(&mut call)
        };
        if !is_finished {
            // If the thread has ended, the call is dropped, and fails.
            let _ = self.thread.send(Command::Call(call));
        }
    }

    /// Polls a call for a moment; returns whether it is finished.
    fn is_done_soon(&self, call: &mut BoxFuture<'static, ()>) -> bool {
        let begin = Instant::now();
        while !is_done(call) {
            if begin.elapsed() >= INLINE {
                return false;
            }
            for discard in self.receives.progress() {
                // If the thread has ended, so has MPI.
                let _ = self.thread.send(Command::Discard(discard));
            }
            thread::yield_now();
        }
        true
    }

    /// Whether MPI may be called.
    ///
    /// # Errors
    /// It has ended.
    fn check(&self) -> Result<(), MpiError> {
        // Relaxed: `calling` orders it, or it is read by the thread that stores it.
        if self.has_ended.load(Ordering::Relaxed) {
            return Err(MpiError::Ended);
        }
        Ok(())
    }

    pub(crate) fn open_requests(&self) -> MutexGuard<'_, OpenRequests> {
        self.open_requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives up the calls that wait, and the requests that nobody waits for; adds their unfinished communications to `rest`. No
    /// call begins any more.
    fn end(&self, messages: &Receiver<Command>, rest: &mut Rest) {
        let calling = self.calling.write().unwrap_or_else(PoisonError::into_inner);
        // Relaxed: see `check`.
        self.has_ended.store(true, Ordering::Relaxed);
        drop(calling);
        let requests = self.open_requests().remove_all();
        // Without the lock: devices free their memory.
        drop(requests);
        // Requests and calls that are dropped send their unfinished communications here, also calls among these commands.
        messages.try_iter().for_each(|command| rest.add(command));
    }
}

/// MPI on the thread that has started it.
struct Started {
    universe: Universe,
    communicator: Communicator,
    /// For the reduction before the end.
    last: Communicator,
    /// Whether all threads may call it.
    is_thread_multiple: bool,
}

/// Starts MPI on this thread.
fn begin(threading: Threading) -> Result<Started, MpiError> {
    let started = mpi::initialize_with_threading(threading);
    let (universe, provided) = started.ok_or(MpiError::Started)?;
    if provided < Threading::Funneled {
        return Err(MpiError::NoThreads { library: library() });
    }
    let world = universe.world();
    let size = world.size().cast_unsigned();
    for variable in SIZES {
        if let Ok(value) = env::var(variable)
            && size == 1
            && value != "1"
        {
            return Err(MpiError::Launcher {
                variable,
                value,
                library: library(),
            });
        }
    }
    let all = world.duplicate();
    let communicator = Communicator {
        raw: all.as_raw(),
        rank: all.rank().cast_unsigned(),
        size,
        max_tag: max_tag(all.as_raw()),
    };
    // It lives as long as MPI.
    mem::forget(all);
    // SAFETY: a communicator, and a handler of MPI's own.
    let code = unsafe { ffi::MPI_Comm_set_errhandler(communicator.raw, ffi::RSMPI_ERRORS_RETURN) };
    if code != 0 {
        return Err(MpiError::of(Communication::Init, code));
    }
    let mut last = communicator;
    // SAFETY: a communicator of all ranks, which all of them copy, with its handler of errors. MPI sets the other one.
    let code = unsafe { ffi::MPI_Comm_dup(communicator.raw, &mut last.raw) };
    if code != 0 {
        return Err(MpiError::of(Communication::Init, code));
    }
    Ok(Started {
        universe,
        communicator,
        last,
        is_thread_multiple: threading == Threading::Multiple && provided == Threading::Multiple,
    })
}

/// The largest tag, which MPI has as an attribute of communicators.
fn max_tag(communicator: ffi::MPI_Comm) -> u32 {
    let (mut value, mut is_set) = (ptr::null::<c_int>(), 0);
    // SAFETY: MPI writes the address of its value to `value`, and to `is_set` whether there is one.
    let code = unsafe {
        ffi::MPI_Comm_get_attr(
            communicator,
            ffi::MPI_TAG_UB as c_int,
            (&raw mut value).cast(),
            &mut is_set,
        )
    };
    let max = match (code, is_set) {
        // SAFETY: MPI has set it to the address of an int, which lives as long as MPI.
        (0, 1..) => unsafe { value.as_ref() },
        _ => None,
    };
    max.and_then(|&max| u32::try_from(max).ok())
        .unwrap_or(MAX_TAG)
}

/// The MPI that the program was built with, such as `Open MPI v4.1.4`.
fn library() -> String {
    let text = library_version().unwrap_or_default();
    let name = text.split(['\n', ',']).next().unwrap_or_default();
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs calls until MPI shall end.
fn serve(
    universe: Universe,
    last: Communicator,
    messages: &Receiver<Command>,
    receives: &Receives,
    shared: impl Fn() -> Option<Arc<Shared>>,
) -> Result<(), MpiError> {
    // Without `finish`, or after a panic, MPI does not end: a rank that fails must not wait for the others here.
    let universe = ManuallyDrop::new(universe);
    if let Some(mut rest) = run(messages, || receives.progress())
        && let Some(shared) = shared()
    {
        shared.end(messages, &mut rest);
        drain(last, receives, &shared.collectives, rest)?;
        drop(ManuallyDrop::into_inner(universe));
    }
    Ok(())
}
