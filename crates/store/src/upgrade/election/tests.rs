//! The rules of ownership, as tables of rows and what becomes of them.
