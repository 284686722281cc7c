//! Spans for the application's subscriber, which may panic where nothing may unwind or a thread must continue.

use tracing::Span;
use tracing::level_filters::LevelFilter;

use super::catch_panic::catch_panic;

/// A span, or none if nobody wants it. Panics of the subscriber are ignored.
#[derive(Debug, Default)]
pub(crate) struct GuardedSpan(Option<Span>);

/// A span that this thread leaves when this is dropped, in the reverse order of entering.
#[derive(Default)]
pub(crate) struct EnteredSpan(GuardedSpan);

/// Whether a subscriber may want spans of the level `DEBUG`. `tracing::enabled` knows better, but layers with filters
/// of their own take its answer for that about the next span or event (tracing-subscriber 0.3).
pub(crate) fn may_be_wanted() -> bool {
    LevelFilter::current() >= LevelFilter::DEBUG
}

impl GuardedSpan {
    /// The span that `make` makes.
    #[inline]
    pub(crate) fn new(make: impl FnOnce() -> Span) -> Self {
        let mut span = None;
        catch_panic(|| span = Some(make()).filter(|span| !span.is_disabled()));
        Self(span)
    }

    #[inline]
    pub(crate) fn enter(self) -> EnteredSpan {
        if let Some(span) = &self.0 {
            catch_panic(|| {
                span.with_subscriber(|(id, subscriber)| subscriber.enter(id));
            });
        }
        EnteredSpan(self)
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
    /// Two calls of the subscriber: each may panic.
    #[inline]
    fn drop(&mut self) {
        if let Some(span) = &self.0.0 {
            catch_panic(|| {
                span.with_subscriber(|(id, subscriber)| subscriber.exit(id));
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use tracing::span::{Attributes, Id, Record};
    use tracing::subscriber::with_default;
    use tracing::{Event, Metadata, Subscriber, info_span};

    use super::*;

    /// A subscriber that panics whenever it can.
    struct Panics;

    impl Subscriber for Panics {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, attributes: &Attributes<'_>) -> Id {
            assert_ne!(attributes.metadata().name(), "new");
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {
            panic!("follows");
        }
        fn event(&self, _: &Event<'_>) {}
        fn enter(&self, _: &Id) {
            panic!("enter");
        }
        fn exit(&self, _: &Id) {
            panic!("exit");
        }
        fn clone_span(&self, _: &Id) -> Id {
            panic!("clone");
        }
        fn try_close(&self, _: Id) -> bool {
            panic!("close");
        }
    }

    #[test]
    fn panics_of_a_subscriber_go_no_further() {
        with_default(Panics, || {
            assert!(GuardedSpan::new(|| info_span!("new")).0.is_none());
            let span = GuardedSpan::new(|| info_span!("span"));
            assert!(span.0.is_some() && span.clone().0.is_none());
            span.follows_from(&GuardedSpan::new(|| info_span!("before")));
            drop(span.enter());
        });
    }
}
