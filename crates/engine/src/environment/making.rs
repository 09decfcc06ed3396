//! Which workspaces are being made at this moment, so that what can wait gives way: somebody is watching.

use std::time::Duration;

use tokio::sync::watch;

use crate::Engine;

/// Counts the workspaces that are being made or restored.
#[derive(Debug)]
pub(crate) struct Makings(watch::Sender<usize>);

impl Default for Makings {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

/// One workspace that is being made; ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Making(watch::Sender<usize>);

impl Makings {
    /// Begins one.
    pub(crate) fn begin(&self) -> Making {
        self.0.send_modify(|count| *count += 1);
        Making(self.0.clone())
    }

    /// Whether no workspace is being made.
    pub(crate) fn are_none(&self) -> bool {
        *self.0.borrow() == 0
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// How long a step of a cleanup waits at most for workspaces that are just being made.
const GIVES_WAY: Duration = Duration::from_secs(2);

impl Engine {
    /// Lets workspaces that are just being made come first, before a step that takes the lock of a repository.
    pub(crate) async fn give_way(&self) {
        self.calm(GIVES_WAY).await;
    }

    /// Waits until no workspace is being made, but no longer than the limit: what can wait does not wait for ever.
    pub(crate) async fn calm(&self, limit: Duration) {
        let mut count = self.inner.makings.0.subscribe();
        let calm = async { drop(count.wait_for(|count| *count == 0).await) };
        tokio::select! {
            () = calm => {}
            () = self.inner.shutdown.cancelled() => {}
            () = tokio::time::sleep(limit) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Makings;

    #[test]
    fn nothing_is_being_made_once_every_making_has_ended() {
        let makings = Makings::default();
        let (first, second) = (makings.begin(), makings.begin());
        drop(first);
        assert!(!makings.are_none());
        drop(second);
        assert!(makings.are_none());
    }
}
