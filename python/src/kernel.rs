//! The class of a kernel, and its launches.

use std::ops::ControlFlow;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use revoff_fn::Argument;
use revoff_host::targets::count::Count;
use revoff_host::{Grid, RuntimeError, TypedKernel};

use crate::closable::{Closable, CloseGroup};
use crate::declaration::Declaration;
use crate::error::{ArgumentError, from_runtime};
use crate::failures::Failures;
use crate::launch_arg::{LaunchArg, stage};

/// A kernel of a loaded image. Calling it launches it and waits for its end.
#[pyclass(frozen, module = "revoff")]
pub(crate) struct Kernel {
    declaration: Declaration,
    /// The declaration as written.
    text: String,
    kernel: Arc<Closable<TypedKernel>>,
    group: Arc<CloseGroup>,
    failures: Arc<Failures>,
}

/// The result of a launch without errors.
#[pyclass(frozen, module = "revoff")]
pub(crate) struct Report {
    /// The time from the kernel's start to its end.
    #[pyo3(get)]
    seconds: f64,
}

#[pymethods]
impl Report {
    fn __repr__(&self) -> String {
        format!("<revoff.Report seconds={}>", self.seconds)
    }
}

#[pymethods]
impl Kernel {
    /// The declared name.
    #[getter]
    fn name(&self) -> &str {
        &self.declaration.name
    }

    /// The declaration as written.
    #[getter]
    fn declaration(&self) -> &str {
        &self.text
    }

    /// Launches the kernel with one argument for each parameter, and waits for its end. Arrays are copied
    /// to the device before, and back afterwards, as their parameters are declared; device arrays stay there.
    /// If the kernel or one of its calls fails, nothing is copied back.
    #[pyo3(signature = (*args, teams=1, threads=1))]
    fn __call__(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        teams: i64,
        threads: i64,
    ) -> PyResult<Report> {
        let grid = Grid {
            teams: size("teams", teams)?,
            threads: size("threads", threads)?,
        };
        let (given, taken) = (args.len(), self.declaration.parameters.len());
        if given != taken {
            return Err(ArgumentError::new_err(format!(
                "kernel `{}` takes {}, not {given}: it is declared as `{}`",
                self.declaration.name,
                Count(taken as u64, "argument"),
                self.text
            )));
        }
        let args: Vec<_> = args.iter().collect();
        let args = stage(&self.declaration, &args, &self.group)?;
        self.launch(py, grid, &args)
    }

    fn __repr__(&self) -> String {
        format!("<revoff.Kernel {}>", self.text)
    }
}

impl Kernel {
    pub(crate) fn new(
        declaration: Declaration,
        text: &str,
        kernel: Arc<Closable<TypedKernel>>,
        group: Arc<CloseGroup>,
        failures: Arc<Failures>,
    ) -> Self {
        Self {
            declaration,
            text: text.trim().to_owned(),
            kernel,
            group,
            failures,
        }
    }

    /// Launches the kernel, without the GIL.
    fn launch(&self, py: Python<'_>, grid: Grid, args: &[LaunchArg<'_>]) -> PyResult<Report> {
        let mut watch = Watch::default();
        let number = self.failures.begin();
        let result = self.kernel.with(py, |kernel| {
            let args: Vec<Argument<'_>> = args.iter().flat_map(LaunchArg::arguments).collect();
            // SAFETY: the image's declaration of the kernel equals this one, as compared when it was bound,
            // and `stage` has made arguments of that declaration, which `args` keeps. The author of the
            // Python program ensures two things, because Python cannot mark a launch as unsafe: that
            // an `unchecked` declaration is that of the kernel, and the further conditions of a kernel that
            // is declared as `unsafe fn`.
            unsafe { kernel.launch_watched(grid, &args, &mut |launch| watch.poll(launch)) }
        });
        let error = result
            .as_ref()
            .ok()
            .and_then(|result| result.as_ref().err());
        let cause = self.failures.end(py, number, watch.launch, error);
        match (result?, watch.interrupt) {
            (Ok(report), _) => Ok(Report {
                seconds: report.time.as_secs_f64(),
            }),
            (Err(_), Some(interrupt)) => Err(interrupt),
            (Err(error), None) => Err(with_cause(py, &error, cause)),
        }
    }
}

/// The exception for a failed launch.
fn with_cause(py: Python<'_>, error: &RuntimeError, cause: Option<PyErr>) -> PyErr {
    let exception = from_runtime(error);
    if cause.is_some() {
        exception.set_cause(py, cause);
    }
    exception
}

/// Watches a launch for signals, such as that of Ctrl-C. Python handles them only in its main thread, which
/// may be the one that waits.
#[derive(Default)]
struct Watch {
    /// The launch's identifier; 0 until it is known.
    launch: u32,
    /// The exception of a signal's handler.
    interrupt: Option<PyErr>,
}

impl Watch {
    fn poll(&mut self, launch: u32) -> ControlFlow<()> {
        if self.launch != launch {
            // The first poll, when the kernel has just been started. Most kernels end before the next one.
            self.launch = launch;
            return ControlFlow::Continue(());
        }
        match Python::try_attach(|py| py.check_signals()) {
            Some(Err(interrupt)) => {
                self.interrupt = Some(interrupt);
                ControlFlow::Break(())
            }
            Some(Ok(())) | None => ControlFlow::Continue(()),
        }
    }
}

/// A dimension of a grid.
fn size(name: &str, value: i64) -> PyResult<u32> {
    u32::try_from(value).map_err(|_| {
        ArgumentError::new_err(format!(
            "{name}={value}: pass a number from 1 to {}",
            u32::MAX
        ))
    })
}
