//! A bounded queue between two threads.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Items in order, up to a weight.
#[derive(Debug)]
pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    capacity: usize,
}

#[derive(Debug)]
struct State<T> {
    items: VecDeque<(T, usize)>,
    weight: usize,
    is_closed: bool,
}

impl<T> Queue<T> {
    pub(super) fn new(capacity: usize) -> Self {
        let state = State { items: VecDeque::new(), weight: 0, is_closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new(), capacity }
    }

    /// Adds an item, and waits for room for some time. Gives it back if there is none.
    pub(super) fn push(&self, item: T, weight: usize, patience: Duration) -> Result<(), T> {
        let is_full = |state: &mut State<T>| state.weight >= self.capacity && !state.is_closed;
        let waited = self.changed.wait_timeout_while(self.lock(), patience, is_full);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.weight >= self.capacity || state.is_closed {
            return Err(item);
        }
        state.weight += weight;
        state.items.push_back((item, weight));
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// Adds an item that weighs nothing. Gives it back once the queue is closed.
    pub(super) fn push_light(&self, item: T) -> Result<(), T> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(item);
        }
        state.items.push_back((item, 0));
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// The next item, if there is one in time.
    pub(super) fn pop(&self, patience: Duration) -> Option<T> {
        let is_empty = |state: &mut State<T>| state.items.is_empty() && !state.is_closed;
        let waited = self.changed.wait_timeout_while(self.lock(), patience, is_empty);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let (item, weight) = state.items.pop_front()?;
        state.weight -= weight;
        drop(state);
        self.changed.notify_all();
        Some(item)
    }

    /// Takes no more items; those in it can still be had.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Whether no item will ever come.
    pub(super) fn is_over(&self) -> bool {
        let state = self.lock();
        state.is_closed && state.items.is_empty()
    }

    /// How full it is, in percent.
    pub(super) fn fill(&self) -> usize {
        self.lock().weight * 100 / self.capacity.max(1)
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_comes_back() {
        let queue = Queue::new(10);
        assert_eq!(queue.push("a", 9, Duration::ZERO), Ok(()));
        // The capacity may be exceeded by one item, so that one of any size passes.
        assert_eq!(queue.push("b", 9, Duration::ZERO), Ok(()));
        assert_eq!(queue.push("c", 1, Duration::from_millis(5)), Err("c"));
        assert_eq!(queue.push_light("d"), Ok(()));
        queue.close();
        assert_eq!(queue.push_light("e"), Err("e"));
        let all: Vec<_> = std::iter::from_fn(|| queue.pop(Duration::ZERO)).collect();
        assert_eq!(all, ["a", "b", "d"]);
        assert!(queue.is_over());
    }
}
