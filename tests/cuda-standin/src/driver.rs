//! The state of the process: devices, their primary contexts, and the current context of each
//! thread.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use emu_driver::process::{lock, setting};

use crate::code::{Answer, Code};
use crate::context::Context;
use crate::faults;
use crate::pointers::Out;

/// The driver after `cuInit`.
pub(crate) struct Driver {
    pub(crate) gpus: Vec<Gpu>,
}

/// A device.
#[derive(Default)]
pub(crate) struct Gpu {
    pub(crate) primary: Mutex<Primary>,
}

/// A device's primary context.
#[derive(Default)]
pub(crate) struct Primary {
    /// The number of unreleased retains.
    retained: u32,
    pub(crate) context: Option<Arc<Context>>,
}

static DRIVER: OnceLock<Driver> = OnceLock::new();

/// Resources that contexts still held when they were destroyed.
static LEAKS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Handle of the calling thread's context; 0 for none.
    static CURRENT: Cell<u64> = const { Cell::new(0) };
}

impl Driver {
    pub(crate) fn gpu(&self, device: i32) -> Answer<&Gpu> {
        let index = usize::try_from(device).map_err(|_| Code::INVALID_DEVICE)?;
        self.gpus.get(index).ok_or(Code::INVALID_DEVICE)
    }

    /// All contexts that there are.
    pub(crate) fn contexts(&self) -> impl Iterator<Item = Arc<Context>> {
        let gpus = self.gpus.iter();
        gpus.filter_map(|gpu| lock(&gpu.primary).context.clone())
    }
}

/// A function without preconditions: its result in C's form.
pub(crate) fn answer(function: &str, run: impl FnOnce() -> Answer) -> u32 {
    let answer = match faults::of_call(function) {
        Some(code) => Err(code),
        None => run(),
    };
    answer.err().unwrap_or(Code::SUCCESS).0
}

/// A function that requires an initialised driver.
pub(crate) fn with_driver(function: &str, run: impl FnOnce(&Driver) -> Answer) -> u32 {
    match DRIVER.get() {
        Some(driver) => answer(function, || run(driver)),
        None => Code::NOT_INITIALIZED.0,
    }
}

/// A function that requires a current, usable context.
pub(crate) fn with_context(function: &str, run: impl FnOnce(&Arc<Context>) -> Answer) -> u32 {
    let Some(driver) = DRIVER.get() else {
        return Code::NOT_INITIALIZED.0;
    };
    let current = CURRENT.get();
    if current == 0 {
        return Code::INVALID_CONTEXT.0;
    }
    let Some(context) = driver.contexts().find(|context| context.handle == current) else {
        return Code::CONTEXT_IS_DESTROYED.0;
    };
    if let Some(code) = context.progress.broken() {
        return code.0;
    }
    let answer = match faults::of_call(function) {
        Some(code) => Err(code),
        None => run(&context),
    };
    if let Err(code) = answer
        && code.is_sticky()
    {
        context.progress.break_with(code);
    }
    answer.err().unwrap_or(Code::SUCCESS).0
}

/// All contexts, for functions that accept another context than the current one.
pub(crate) fn contexts() -> impl Iterator<Item = Arc<Context>> {
    DRIVER.get().into_iter().flat_map(Driver::contexts)
}

#[unsafe(no_mangle)]
extern "C" fn cuInit(flags: u32) -> u32 {
    answer("cuInit", || {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        DRIVER.get_or_init(|| Driver {
            gpus: (0..setting("REVOFF_STAND_IN_DEVICES", 2))
                .map(|_| Gpu::default())
                .collect(),
        });
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDriverGetVersion(version: Out<i32>) -> u32 {
    answer("cuDriverGetVersion", || {
        version.set(setting("REVOFF_STAND_IN_VERSION", 12_040) as i32)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRetain(context: Out<u64>, device: i32) -> u32 {
    with_driver("cuDevicePrimaryCtxRetain", |driver| {
        let mut primary = lock(&driver.gpu(device)?.primary);
        let retained = match &primary.context {
            Some(retained) => Arc::clone(retained),
            None => Context::new(device)?,
        };
        if let Some(code) = retained.progress.broken() {
            return Err(code);
        }
        context.set(retained.handle)?;
        primary.context = Some(retained);
        primary.retained += 1;
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(device: i32) -> u32 {
    with_driver("cuDevicePrimaryCtxRelease_v2", |driver| {
        let mut primary = lock(&driver.gpu(device)?.primary);
        primary.retained = primary
            .retained
            .checked_sub(1)
            .ok_or(Code::INVALID_CONTEXT)?;
        if primary.retained == 0
            && let Some(context) = primary.context.take()
        {
            drop(primary);
            // Relaxed: a count that is read at the end.
            LEAKS.fetch_add(context.destroy(), Ordering::Relaxed);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxGetState(device: i32, flags: Out<u32>, active: Out<i32>) -> u32 {
    with_driver("cuDevicePrimaryCtxGetState", |driver| {
        let primary = lock(&driver.gpu(device)?.primary);
        flags.set(0)?;
        active.set(i32::from(primary.context.is_some()))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(context: u64) -> u32 {
    with_driver("cuCtxSetCurrent", |driver| {
        if context != 0 && !driver.contexts().any(|known| known.handle == context) {
            return Err(Code::INVALID_CONTEXT);
        }
        CURRENT.set(context);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxGetCurrent(context: Out<u64>) -> u32 {
    with_driver("cuCtxGetCurrent", |_| context.set(CURRENT.get()))
}

/// Not a function of NVIDIA's: the number of contexts.
#[unsafe(no_mangle)]
extern "C" fn revoff_stand_in_contexts() -> u64 {
    contexts().count() as u64
}

/// Not a function of NVIDIA's: the number of resources that contexts still held when they were
/// destroyed. Those of broken contexts do not count, since they could not be freed.
#[unsafe(no_mangle)]
extern "C" fn revoff_stand_in_leaks() -> u64 {
    LEAKS.load(Ordering::Relaxed)
}
