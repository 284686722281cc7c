//! Spans for the application's subscriber, which may panic where nothing may unwind or a thread must continue.

use tracing::Span;
use tracing::span;

use super::catch_panic::catch_panic;

/// A span, or none if nobody wants it. Panics of the subscriber are ignored.
#[derive(Debug, Default)]
pub(crate) struct GuardedSpan(Option<Span>);

/// A span that this thread leaves when this is dropped, in the reverse order of entering.
#[derive(Default)]
pub(crate) struct EnteredSpan(Option<span::EnteredSpan>);

impl GuardedSpan {
    /// The span that `make` makes.
    #[inline]
    pub(crate) fn new(make: impl FnOnce() -> Span) -> Self {
        let mut span = None;
        catch_panic(|| span = Some(make()).filter(|span| !span.is_disabled()));
        Self(span)
    }

    #[inline]
    pub(crate) fn enter(mut self) -> EnteredSpan {
        let mut entered = None;
        if let Some(span) = self.0.take() {
            catch_panic(|| entered = Some(span.entered()));
        }
        EnteredSpan(entered)
    }

    /// Notes that the span begins after the end of `before`.
    pub(crate) fn follows_from(&self, before: &Self) {
        if let (Some(span), Some(before)) = (&self.0, &before.0) {
            catch_panic(|| {
                span.follows_from(before);
            });
        }
    }
}

impl Clone for GuardedSpan {
    fn clone(&self) -> Self {
        let mut span = None;
        catch_panic(|| span = self.0.clone());
        Self(span)
    }
}

impl Drop for GuardedSpan {
    #[inline]
    fn drop(&mut self) {
        if let Some(span) = self.0.take() {
            catch_panic(|| drop(span));
        }
    }
}

impl Drop for EnteredSpan {
    #[inline]
    fn drop(&mut self) {
        if let Some(span) = self.0.take() {
            catch_panic(|| drop(span));
        }
    }
}
