//! What tests share: repositories, stores on both engines, a manual clock, databases of the old schema.

pub mod clock;
pub mod database;
pub mod legacy;
pub mod repo;
