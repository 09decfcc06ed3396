//! What tests share: repositories, stores on both engines, a manual clock.
