//! The host functions that an image is loaded with.

use std::collections::BTreeMap;
use std::sync::Arc;

use revoff_fn::{AsyncHostFunction, HostFunction};

use super::{Result, RuntimeError};
use crate::serve::{DeviceFunction, DirectTransfer, RawFunction, RegisteredFunction, Spawn};

/// The functions that an image is loaded with, by name.
#[derive(Clone, Debug, Default)]
pub struct Functions {
    by_name: BTreeMap<String, Arc<RegisteredFunction>>,
}

impl Functions {
    /// No functions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a function that was declared with
    /// [`host_functions!`](revoff_fn::host_functions) and bound to a closure.
    ///
    /// # Errors
    /// A function of that name is registered already.
    pub fn add(&mut self, function: impl HostFunction) -> Result<&mut Self> {
        let name = function.name().to_owned();
        self.insert(RegisteredFunction::typed(name, Box::new(function)))
    }

    /// Adds a typed function, of which `transfer` serves some calls.
    ///
    /// # Errors
    /// A function of that name is registered already.
    pub(crate) fn add_direct(
        &mut self,
        function: impl HostFunction,
        transfer: Box<dyn DirectTransfer>,
    ) -> Result<&mut Self> {
        let name = function.name().to_owned();
        self.insert(RegisteredFunction::direct(
            name,
            Box::new(function),
            transfer,
        ))
    }

    /// Adds an asynchronous function that was declared with
    /// [`host_functions!`](revoff_fn::host_functions) and bound with `bind_async`. `spawn` runs its calls
    /// on an executor, such as tokio's: `move |call| { runtime.spawn(call); }`.
    ///
    /// A call that waits needs no host thread. The thread that polls it to its end also copies results
    /// back to the device.
    ///
    /// # Errors
    /// A function of that name is registered already.
    pub fn add_async(
        &mut self,
        function: impl AsyncHostFunction,
        spawn: impl Spawn,
    ) -> Result<&mut Self> {
        let name = function.name().to_owned();
        let (function, spawn) = (Box::new(function), Box::new(spawn));
        let entry = RegisteredFunction::asynchronous_on(name, function, spawn, None);
        self.insert(entry)
    }

    /// Like [`add_async`](Self::add_async), with `on_device`, which serves some calls without copying their data to
    /// the host: for libraries that access device memory by themselves.
    ///
    /// # Errors
    /// A function of that name is registered already.
    pub fn add_async_on_device(
        &mut self,
        function: impl AsyncHostFunction,
        on_device: impl DeviceFunction,
        spawn: impl Spawn,
    ) -> Result<&mut Self> {
        let name = function.name().to_owned();
        let (function, spawn) = (Box::new(function), Box::new(spawn));
        let on_device: Box<dyn DeviceFunction> = Box::new(on_device);
        let entry = RegisteredFunction::asynchronous_on(name, function, spawn, Some(on_device));
        self.insert(entry)
    }

    /// Adds a C function under `name`. It is called with the addresses that the device sent; it is
    /// not told how many there are.
    ///
    /// # Safety
    /// Calling the function from any thread, with the arguments that images loaded with it send,
    /// is sound by the rules of C.
    ///
    /// # Errors
    /// A function of that name is registered already.
    pub unsafe fn add_raw(
        &mut self,
        name: impl Into<String>,
        function: RawFunction,
    ) -> Result<&mut Self> {
        self.insert(RegisteredFunction::raw(name.into(), function))
    }

    fn insert(&mut self, entry: RegisteredFunction) -> Result<&mut Self> {
        let name = entry.name().to_owned();
        if self.by_name.contains_key(&name) {
            return Err(RuntimeError::TwiceRegistered { name });
        }
        self.by_name.insert(name, Arc::new(entry));
        Ok(self)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<RegisteredFunction>> {
        self.by_name.values()
    }
}
