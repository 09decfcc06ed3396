//! `freehold import kandev`: takes over what a Kandev home holds, and leaves that home as it was.

use std::path::{Path, PathBuf};

use freehold_store::upgrade::{self, Resolutions};
use freehold_store::{DatabaseUrl, HomeLock, StoreError};

use crate::arguments::{ImportCommand, ImportKandev};
use crate::commands::upgrade::report;
use crate::failure::{Exit, Failure};
use crate::home::Home;
use crate::initialise::initialise;
use crate::output::Output;

/// Carries out the command.
pub(crate) fn run(command: &ImportCommand, output: Output) -> Result<(), Failure> {
    let ImportCommand::Kandev(options) = command;
    let resolutions = Resolutions::parse(&options.resolutions).map_err(StoreError::from)?;
    let original = find_original(options)?;
    let home = Home::locate(options.into.clone().or_else(home_of_environment).as_deref())?;
    let _lock = HomeLock::acquire(home.root())?;
    home.create()?;
    let DatabaseUrl::Sqlite(target) = home.database(None)? else { return Ok(()) };
    if target.exists() {
        let message = format!("{} exists already; nothing was changed", target.display());
        return Err(Failure::new(Exit::Conflict, "database_exists", message)
            .hint("import into an empty home folder: freehold import kandev --into DIR")
            .subject(target.display().to_string()));
    }
    // Under another name until it is upgraded: a copy that is not must never be taken for the database.
    let draft = target.with_extension("import");
    let imported = import(&original, &draft, resolutions, output).and_then(|text| {
        std::fs::rename(&draft, &target).map_err(|source| Failure::file("put in place", &draft, &source))?;
        Ok(text)
    });
    if imported.is_err() {
        forget(&draft);
    }
    let (done, text) = imported?;
    output.answer(&done, || {
        format!(
            "Imported {} into {}.\n\n{text}\n\n\
             Worktrees stay where they are on disk. What did not come along: running agents, the key of the secret \
             store (secrets stay sealed), and the commands of agents: give them again with freehold agent add.",
            original.display(),
            target.display(),
        )
    })
}

fn import(
    original: &Path,
    draft: &Path,
    resolutions: Resolutions,
    output: Output,
) -> Result<(upgrade::Initialised, String), Failure> {
    forget(draft);
    output.note(&format!("Copying {} …", original.display()));
    upgrade::copy_database(original, draft)?;
    let url = DatabaseUrl::Sqlite(draft.to_owned());
    let done = initialise(&url, true, resolutions, output)?;
    let text = done.upgrade.as_ref().map(report).unwrap_or_default();
    Ok((done, text))
}

/// Removes a copy that was not finished, with what SQLite keeps beside it.
fn forget(draft: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let mut path = draft.as_os_str().to_owned();
        path.push(suffix);
        // Most often it is not there.
        let _ = std::fs::remove_file(PathBuf::from(path));
    }
}

fn find_original(options: &ImportKandev) -> Result<PathBuf, Failure> {
    // The variable of Freehold's own home fills the option of that name, and must not be taken for this one.
    let typed = options.kandev_home.clone().filter(|_| super::is_on_command_line(&["--home"]));
    let folder = match typed.clone().or_else(|| variable("KANDEV_HOME_DIR")) {
        Some(folder) => folder,
        None => {
            directories::BaseDirs::new().map(|folders| folders.home_dir().join(".kandev")).unwrap_or_default()
        }
    };
    let database = variable("KANDEV_DATABASE_PATH").filter(|path| typed.is_none() && path.is_file());
    database.or_else(|| upgrade::find_database(&folder)).ok_or_else(|| {
        let message = format!("{} holds no Kandev database", folder.display());
        Failure::new(Exit::NotFound, "no_database", message)
            .hint(
                "name the folder with --home; for a PostgreSQL database use: \
                 freehold upgrade --database postgres://USER@HOST/DATABASE --plan",
            )
            .subject(folder.display().to_string())
    })
}

fn home_of_environment() -> Option<PathBuf> {
    variable("FREEHOLD_HOME")
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
