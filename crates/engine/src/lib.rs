//! Joins store, git and agent; reads as the life of a task.
