//! Work that the holder of the poll token leaves for after its release.

use super::CallError;
use super::failures::log_failure;
use super::served_wire::Source;
use super::text::Writer;
use crate::base::catch_panic::catch_panic;

/// Work that may block, so no thread does it while it polls: the subscriber of the application's log
/// and the device's driver run in it, and a thread is created.
#[derive(Default)]
pub(super) struct Deferred {
    /// The key of the launch of each failure that is recorded but not logged.
    pub(super) failures: Vec<(u32, CallError)>,
    /// The wires that are no longer polled.
    pub(super) retired: Vec<Source>,
    /// The writer of text, which was not started yet.
    pub(super) writer: Option<Writer>,
}

impl Deferred {
    pub(super) fn is_empty(&self) -> bool {
        self.failures.is_empty() && self.retired.is_empty() && self.writer.is_none()
    }

    /// Takes the work; `None` if there is none.
    pub(super) fn take(&mut self) -> Option<Self> {
        (!self.is_empty()).then(|| std::mem::take(self))
    }

    /// Starts the writer, logs the failures, and frees the wires if nothing else uses them.
    pub(super) fn finish(self) {
        if let Some(writer) = self.writer {
            writer.start();
        }
        for (launch, error) in &self.failures {
            log_failure(*launch, error);
        }
        catch_panic(|| drop(self.retired));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use shared_abi::wire::WireKind;
    use tracing::subscriber::with_default;
    use tracing::{Event, Subscriber};
    use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
    use tracing_subscriber::registry;

    use crate::serve::{Server, lock, testing};
    use crate::wire::{Poll, ProtocolError};

    /// A subscriber of the log that notes whether the token is free at each event, and panics.
    struct Log {
        server: Arc<Server>,
        events: Arc<Mutex<Vec<bool>>>,
    }

    impl<S: Subscriber> Layer<S> for Log {
        fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
            let is_free = self.server.threads.with_token(|_| ());
            lock(&self.events).push(is_free);
            panic!("a subscriber panics");
        }
    }

    #[test]
    fn protocol_errors_are_logged_without_the_token() {
        let server = testing::server(testing::host());
        server.connect(WireKind::NATIVE).unwrap();
        let events = Arc::default();
        let log = Log {
            server: Arc::clone(&server),
            events: Arc::clone(&events),
        };
        let mut deferred = None;
        with_default(registry().with(log), || {
            let had_token = server.threads.with_token(|token| {
                server.refresh_wires(token);
                let error = ProtocolError::Sequence {
                    slot: 1,
                    found: 7,
                    expected: 2,
                };
                let error = Poll::ProtocolError(error);
                let wire = &token.sources[0].wire;
                assert!(server.handle_non_request(wire, error, &mut token.deferred));
                deferred = token.deferred.take();
            });
            assert!(had_token);
            assert!(
                lock(&events).is_empty(),
                "logged by the holder of the token"
            );
            deferred.unwrap().finish();
        });
        assert_eq!(*lock(&events), [true]);
        server.stop();
    }
}
