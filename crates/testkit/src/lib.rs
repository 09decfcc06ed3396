//! What tests share: repositories, stores on both engines, a manual clock.

pub mod clock;
pub mod database;
pub mod repo;
