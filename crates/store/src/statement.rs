//! Statements: SQL written once for both engines, registered so that every one can be prepared and checked.
//!
//! Placeholders are `$1`, `$2`, … in the order of their first appearance, because SQLite numbers them so.
//! What one engine alone understands stands in a mark, `/*pg FOR UPDATE*/` or `/*sqlite …*/`.

use crate::{
    agent, cleanup, creation, environment, event, message, node, pool, port_block, preparation, quarantine,
};
use crate::{
    removed, repository, repository_settings, schema, seal, session, setup, storage, task, upgrade, workflow,
    workspace,
};

/// One SQL statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Statement {
    /// `module::NAME`, unique.
    pub(crate) name: &'static str,
    /// The SQL with marks.
    pub(crate) sql: &'static str,
}

/// Declares a module's statements and registers them as its `STATEMENTS`.
macro_rules! statements {
    ($($name:ident = $sql:expr;)+) => {
        $(const $name: $crate::statement::Statement = $crate::statement::Statement {
            name: concat!(module_path!(), "::", stringify!($name)),
            sql: $sql,
        };)+

        /// Every statement of this module.
        pub(crate) const STATEMENTS: &[$crate::statement::Statement] = &[$($name),+];
    };
}
pub(crate) use statements;

/// Every statement of the crate.
pub(crate) fn all() -> impl Iterator<Item = &'static Statement> {
    [
        agent::STATEMENTS,
        cleanup::STATEMENTS,
        creation::STATEMENTS,
        environment::STATEMENTS,
        event::STATEMENTS,
        message::STATEMENTS,
        node::STATEMENTS,
        pool::STATEMENTS,
        removed::STATEMENTS,
        port_block::STATEMENTS,
        preparation::STATEMENTS,
        quarantine::STATEMENTS,
        repository::STATEMENTS,
        seal::STATEMENTS,
        repository_settings::STATEMENTS,
        schema::STATEMENTS,
        session::STATEMENTS,
        setup::STATEMENTS,
        storage::STATEMENTS,
        task::STATEMENTS,
        task::automation::STATEMENTS,
        task::family::STATEMENTS,
        task::list::STATEMENTS,
        task::sweep::STATEMENTS,
        task::visitor::STATEMENTS,
        upgrade::catalog::STATEMENTS,
        upgrade::swap::STATEMENTS,
        workflow::STATEMENTS,
        workspace::STATEMENTS,
    ]
    .into_iter()
    .flatten()
}
