//! `freehold repo`: registers and lists repositories.

mod settings;

use std::path::Path;

use freehold_api::repository::{AddRepository, Repository};

use crate::arguments::RepoCommand;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::lookup;
use crate::output::{Output, short, table};

/// Carries out the command.
pub(crate) fn run(connection: &Connection, command: RepoCommand, output: Output) -> Result<(), Failure> {
    match command {
        RepoCommand::Add { path, name } => add(connection, &path, name, output),
        RepoCommand::List => {
            let repositories = connection.client.repositories()?;
            output.answer(&repositories, || listed(&repositories))
        }
        RepoCommand::Show { repo } => {
            let id = lookup::repository(&connection.client, &repo)?.id;
            let detail = connection.client.repository(&id)?;
            output.answer(&detail, || settings::shown(&detail))
        }
        RepoCommand::Set(arguments) => settings::set(connection, &arguments, output),
        RepoCommand::Trust(arguments) => settings::trust(connection, &arguments, output),
    }
}

fn add(connection: &Connection, path: &Path, name: Option<String>, output: Output) -> Result<(), Failure> {
    // The server may run in another directory.
    let path = std::path::absolute(path).map_err(|source| Failure::file("find", path, &source))?;
    let request = AddRepository { path: path.display().to_string(), name, workspace_id: None };
    let added = connection.client.add_repository(&request)?;
    output.answer(&added, || {
        let Repository { name, local_path, default_branch, .. } = &added.repository;
        let verb = if added.already_registered { "was registered before" } else { "is registered" };
        let note = if added.note.is_empty() { String::new() } else { format!("\n{}", added.note) };
        format!("{name} {verb}: {local_path}, branch {default_branch}{note}")
    })
}

fn listed(repositories: &[Repository]) -> String {
    let row = |repository: &Repository| {
        let Repository { id, name, default_branch, local_path, .. } = repository;
        vec![short(id).to_owned(), name.clone(), default_branch.clone(), local_path.clone()]
    };
    let rows = repositories.iter().map(row).collect();
    table(&["id", "name", "branch", "path"], rows, "No repository is registered yet: freehold repo add PATH")
}
