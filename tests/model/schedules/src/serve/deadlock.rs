//! Stand-in for the detection of deadlocks between launches: shuttle has no time.

use std::marker::PhantomData;
use std::sync::Arc;

use super::Server;

pub(super) struct NestedWait<'s>(PhantomData<&'s Server>);

impl<'s> NestedWait<'s> {
    pub(super) fn begin(_: &'s Arc<Server>, _can_call: bool) -> Self {
        Self(PhantomData)
    }

    pub(super) fn check(&mut self) {}
}
