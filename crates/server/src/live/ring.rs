//! The ring: the newest frames, ready to be sent, without a hole between them.
//!
//! It is bounded in number and in bytes, so that what a server keeps does not grow with what its agents say.

use std::collections::VecDeque;

use axum::extract::ws::Utf8Bytes;

/// How many frames the ring keeps.
pub(crate) const MAX_FRAMES: usize = 4_096;
/// How many bytes of frames the ring keeps, unless a single one is larger.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// One event, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) seq: i64,
    pub(crate) text: Utf8Bytes,
}

/// The newest frames.
#[derive(Debug)]
pub(crate) struct Ring {
    frames: VecDeque<Frame>,
    bytes: usize,
    last: i64,
}

impl Ring {
    /// Makes a ring that goes on after `last`.
    pub(crate) fn after(last: i64) -> Self {
        Self { frames: VecDeque::new(), bytes: 0, last }
    }

    /// The number of the newest frame, or where the first will follow.
    pub(crate) fn last(&self) -> i64 {
        self.last
    }

    /// Adds the frame that follows the last.
    pub(crate) fn push(&mut self, frame: Frame) {
        self.last = frame.seq;
        self.bytes += frame.text.len();
        self.frames.push_back(frame);
        while self.frames.len() > MAX_FRAMES || (self.bytes > MAX_BYTES && self.frames.len() > 1) {
            let oldest = self.frames.pop_front();
            self.bytes -= oldest.map_or(0, |frame| frame.text.len());
        }
    }

    /// The first `limit` frames after `seen`; `None` says that they begin before the ring.
    pub(crate) fn page(&self, seen: i64, limit: usize) -> Option<Vec<Frame>> {
        let before_first = self.frames.front().map_or(self.last, |first| first.seq - 1);
        if seen < before_first {
            return None;
        }
        let start = self.frames.partition_point(|frame| frame.seq <= seen);
        Some(self.frames.iter().skip(start).take(limit).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(last: i64) -> Ring {
        let mut ring = Ring::after(0);
        (1..=last).for_each(|seq| ring.push(Frame { seq, text: seq.to_string().into() }));
        ring
    }

    fn numbers(page: Option<Vec<Frame>>) -> Option<Vec<i64>> {
        page.map(|frames| frames.iter().map(|frame| frame.seq).collect())
    }

    #[test]
    fn a_page_holds_what_follows_and_no_more_than_was_asked_for() {
        let ring = filled(10);
        assert_eq!(numbers(ring.page(7, 100)), Some(vec![8, 9, 10]));
        assert_eq!(numbers(ring.page(0, 3)), Some(vec![1, 2, 3]));
        assert_eq!(numbers(ring.page(10, 100)), Some(vec![]));
        assert_eq!(numbers(Ring::after(5).page(5, 100)), Some(vec![]));
        assert_eq!(numbers(Ring::after(5).page(4, 100)), None);
    }

    #[test]
    fn it_keeps_the_newest_in_number() {
        let newest = i64::try_from(MAX_FRAMES).unwrap() + 10;
        let ring = filled(newest);
        assert_eq!(ring.frames.len(), MAX_FRAMES);
        assert_eq!(numbers(ring.page(9, 1)), None);
        assert_eq!(numbers(ring.page(10, 1)), Some(vec![11]));
        assert_eq!(ring.last(), newest);
    }

    #[test]
    fn it_keeps_the_newest_in_bytes_and_always_the_last() {
        let mut ring = Ring::after(0);
        let large = |seq| Frame { seq, text: "x".repeat(MAX_BYTES / 2 + 1).into() };
        ring.push(large(1));
        ring.push(large(2));
        assert_eq!(numbers(ring.page(1, 10)), Some(vec![2]));
        assert_eq!(numbers(ring.page(0, 10)), None);
        ring.push(Frame { seq: 3, text: "x".repeat(2 * MAX_BYTES).into() });
        assert_eq!(numbers(ring.page(2, 10)), Some(vec![3]));
        assert_eq!(ring.bytes, 2 * MAX_BYTES);
    }
}
