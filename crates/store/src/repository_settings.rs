//! What a person set for the workspaces of repositories, and which of their scripts are trusted.

use freehold_domain::clock::Timestamp;
use freehold_domain::id::RepositoryId;
use freehold_domain::preparation::RepositorySettings;

use crate::row::Fields;
use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

statements! {
    SAVE =
        "INSERT INTO repository_settings (repository_id, copy_globs, links, setup_script, teardown_script, \
         submodules, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (repository_id) DO UPDATE SET \
         copy_globs = excluded.copy_globs, links = excluded.links, setup_script = excluded.setup_script, \
         teardown_script = excluded.teardown_script, submodules = excluded.submodules, \
         updated_at = excluded.updated_at";
    FIND =
        "SELECT repository_id, copy_globs, links, setup_script, teardown_script, submodules \
         FROM repository_settings WHERE repository_id = $1";
    TRUST =
        "INSERT INTO trusted_scripts (repository_id, content_hash, created_at) VALUES ($1, $2, $3) \
         ON CONFLICT (repository_id, content_hash) DO NOTHING";
    FIND_TRUSTED =
        "SELECT content_hash FROM trusted_scripts WHERE repository_id = $1 AND content_hash = $2";
    LOCK = "SELECT id FROM repositories WHERE id = $1/*pg  FOR UPDATE*/";
}

/// Stores the settings of a repository in place of those it had.
pub fn save(tx: &mut Tx<'_>, settings: &RepositorySettings, now: Timestamp) -> Result<(), StoreError> {
    let json = |list: &[String]| {
        serde_json::to_string(list).map_err(|error| StoreError::database("write a list as JSON", error))
    };
    let values = params![
        settings.repository_id.as_str(),
        json(&settings.copy)?,
        json(&settings.links)?,
        &settings.setup,
        &settings.teardown,
        settings.submodules.as_str(),
        now,
    ];
    tx.execute(&SAVE, values).map(drop)
}

/// Reads the settings of a repository; those of one for which nothing was set are empty.
pub fn read(tx: &mut Tx<'_>, repository: &RepositoryId) -> Result<RepositorySettings, StoreError> {
    let found = tx.row(&FIND, params![repository.as_str()], "repository_settings", settings)?;
    Ok(found.unwrap_or_else(|| RepositorySettings::unset(repository.clone())))
}

/// Reads the settings and keeps other transactions from changing them until this one ends.
pub fn lock(tx: &mut Tx<'_>, repository: &RepositoryId) -> Result<RepositorySettings, StoreError> {
    tx.row(&LOCK, params![repository.as_str()], "repositories", |fields| fields.text())?;
    read(tx, repository)
}

/// Records that a person allows a script of a repository to run.
pub fn trust(
    tx: &mut Tx<'_>,
    repository: &RepositoryId,
    content_hash: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    tx.execute(&TRUST, params![repository.as_str(), content_hash, now]).map(drop)
}

/// Whether a person allowed a script of this content to run.
pub fn is_trusted(
    tx: &mut Tx<'_>,
    repository: &RepositoryId,
    content_hash: &str,
) -> Result<bool, StoreError> {
    let values = params![repository.as_str(), content_hash];
    Ok(tx.row(&FIND_TRUSTED, values, "trusted_scripts", |fields| fields.text())?.is_some())
}

fn settings(fields: &mut Fields<'_>) -> Result<RepositorySettings, StoreError> {
    Ok(RepositorySettings {
        repository_id: fields.parse()?,
        copy: fields.json()?,
        links: fields.json()?,
        setup: fields.text()?,
        teardown: fields.text()?,
        submodules: fields.parse()?,
    })
}
