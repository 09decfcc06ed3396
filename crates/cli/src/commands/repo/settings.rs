//! `freehold repo show`, `set` and `trust`: what new workspaces of a repository get.

use std::path::Path;

use freehold_api::preparation::{RepositoryDetail, RepositoryScript, TrustScript, UpdateRepository};

use crate::arguments::{SetRepository, TrustRepository};
use crate::connection::Connection;
use crate::failure::{Exit, Failure};
use crate::lookup;
use crate::output::Output;

/// Changes settings and shows them.
pub(super) fn set(connection: &Connection, arguments: &SetRepository, output: Output) -> Result<(), Failure> {
    let id = lookup::repository(&connection.client, &arguments.repo)?.id;
    let request = UpdateRepository {
        copy: arguments.copy.as_deref().map(entries),
        links: arguments.links.as_deref().map(entries),
        setup_script: arguments.setup.as_deref().map(script).transpose()?,
        teardown_script: arguments.teardown.as_deref().map(script).transpose()?,
        submodules: arguments.submodules.clone(),
    };
    if request == UpdateRepository::default() {
        let message = "nothing to set was named";
        return Err(Failure::new(Exit::Usage, "nothing_to_set", message)
            .hint("for example: freehold repo set REPO --copy .env --setup setup.sh"));
    }
    let detail = connection.client.update_repository(&id, &request)?;
    output.answer(&detail, || shown(&detail))
}

/// Trusts the content that was named, or after a look the scripts of the main checkout.
pub(super) fn trust(
    connection: &Connection,
    arguments: &TrustRepository,
    output: Output,
) -> Result<(), Failure> {
    let client = &connection.client;
    let id = lookup::repository(client, &arguments.repo)?.id;
    let mut detail = client.repository(&id)?;
    if let Some(sha256) = &arguments.sha256 {
        let detail = client.trust_script(&id, &TrustScript { sha256: sha256.clone() })?;
        return output.answer(&detail, || shown(&detail));
    }
    let untrusted: Vec<RepositoryScript> =
        detail.scripts.iter().filter(|script| !script.trusted).cloned().collect();
    if detail.scripts.is_empty() {
        let message = format!("{} has no script to trust", detail.repository.local_path);
        return Err(Failure::new(Exit::NotFound, "no_script", message)
            .hint("Freehold looks for .freehold/setup.sh and .freehold/teardown.sh"));
    }
    for script in untrusted {
        output.note(&format!("{}:\n{}", script.path, script.content.trim_end()));
        if !arguments.yes {
            if !output.can_ask() {
                let message = format!("nobody can be asked whether {} is trusted", script.path);
                return Err(Failure::new(Exit::Usage, "confirmation_needed", message)
                    .hint(format!("read it, then add --yes or --sha256 {}", script.sha256)));
            }
            if !output.confirm(&format!("Run {} in new workspaces?", script.path))? {
                continue;
            }
        }
        detail = client.trust_script(&id, &TrustScript { sha256: script.sha256 })?;
    }
    output.answer(&detail, || shown(&detail))
}

/// What is set, in lines.
pub(super) fn shown(detail: &RepositoryDetail) -> String {
    let settings = &detail.settings;
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let value = if value.is_empty() { "-" } else { value };
        text.push_str(&format!("{name:<10} {value}\n"));
    };
    line("id", &detail.repository.id);
    line("name", &detail.repository.name);
    line("path", &detail.repository.local_path);
    line("branch", &detail.repository.default_branch);
    line("copy", &settings.copy.join(", "));
    line("link", &settings.links.join(", "));
    line("submodules", &settings.submodules);
    for script in &detail.scripts {
        let trust = if script.trusted { "trusted" } else { "not trusted, so it is not run" };
        line("script", &format!("{} ({trust})", script.path));
    }
    for (name, script) in [("setup", &settings.setup_script), ("teardown", &settings.teardown_script)] {
        line(name, script.lines().next().unwrap_or_default());
        script.lines().skip(1).for_each(|more| line("", more));
    }
    text
}

/// The values of an option that can be repeated; an empty one takes away.
fn entries(values: &[String]) -> Vec<String> {
    values.iter().filter(|value| !value.trim().is_empty()).cloned().collect()
}

/// Reads a script; no file takes the script away.
fn script(path: &str) -> Result<String, Failure> {
    if path.is_empty() {
        return Ok(String::new());
    }
    let path = Path::new(path);
    std::fs::read_to_string(path).map_err(|source| Failure::file("read", path, &source))
}
