//! What a person sets for the workspaces of a repository, and the repository's own scripts that a person trusts.

use std::path::Path;

use freehold_domain::event::EventBody;
use freehold_domain::id::RepositoryId;
use freehold_domain::preparation::{
    MAX_PLANTED_ENTRIES, MAX_SCRIPT_BYTES, RepositorySettings, SETUP_FILE, Submodules, TEARDOWN_FILE,
    inner_path,
};
use freehold_domain::repository::Repository;
use freehold_store as store;
use sha2::{Digest as _, Sha256};

use crate::setup::read_script;
use crate::{Engine, EngineError};

/// Changes settings; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsUpdate {
    /// Patterns of files to copy, in place of those before.
    pub copy: Option<Vec<String>>,
    /// Paths to link, in place of those before.
    pub links: Option<Vec<String>>,
    /// The set-up script; empty for none.
    pub setup: Option<String>,
    /// The tear-down script; empty for none.
    pub teardown: Option<String>,
    /// What happens to submodules.
    pub submodules: Option<Submodules>,
}

/// A repository with what is set for its workspaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryView {
    /// The repository.
    pub repository: Repository,
    /// What a person set.
    pub settings: RepositorySettings,
    /// The scripts that the main checkout names.
    pub scripts: Vec<RepositoryScript>,
}

/// A script that a repository names itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryScript {
    /// Its path in the repository.
    pub path: &'static str,
    /// The SHA-256 of its content, in hexadecimal digits.
    pub hash: String,
    /// Its content.
    pub content: String,
    /// Whether a person trusted exactly this content.
    pub is_trusted: bool,
}

impl Engine {
    /// Reads a repository with its settings and its own scripts.
    pub async fn repository(&self, id: RepositoryId) -> Result<RepositoryView, EngineError> {
        let read = self.inner.store.read(move |tx| {
            let repository = store::repository::require(tx, &id)?;
            let settings = store::repository_settings::read(tx, &id)?;
            let mut scripts = Vec::new();
            for path in [SETUP_FILE, TEARDOWN_FILE] {
                // What cannot be read cannot be run either; a run says why.
                let Ok(content) = read_script(&Path::new(&repository.local_path).join(path)) else {
                    continue;
                };
                let hash = content_hash(&content);
                let is_trusted = store::repository_settings::is_trusted(tx, &id, &hash)?;
                scripts.push(RepositoryScript { path, hash, content, is_trusted });
            }
            Ok::<_, EngineError>(RepositoryView { repository, settings, scripts })
        });
        read.await
    }

    /// Changes what is set for the workspaces of a repository. Workspaces that exist stay as they are.
    pub async fn update_repository_settings(
        &self,
        id: RepositoryId,
        update: SettingsUpdate,
    ) -> Result<(), EngineError> {
        let update = checked(update)?;
        let now = self.now();
        let write = self.inner.store.write(move |tx| {
            store::repository::require(tx, &id)?;
            let mut settings = store::repository_settings::lock(tx, &id)?;
            settings.copy = update.copy.unwrap_or(settings.copy);
            settings.links = update.links.unwrap_or(settings.links);
            settings.setup = update.setup.unwrap_or(settings.setup);
            settings.teardown = update.teardown.unwrap_or(settings.teardown);
            settings.submodules = update.submodules.unwrap_or(settings.submodules);
            store::repository_settings::save(tx, &settings, now)?;
            tx.emit(EventBody::RepositoryChanged { repository_id: id }, now);
            Ok::<_, EngineError>(())
        });
        write.await
    }

    /// Trusts scripts of a repository that have exactly this content.
    pub async fn trust_script(&self, id: RepositoryId, hash: String) -> Result<(), EngineError> {
        let hash = hash.trim().to_ascii_lowercase();
        if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let reason = format!("{hash:?} is not a SHA-256 of 64 hexadecimal digits");
            return Err(EngineError::InvalidField { field: "sha256", reason });
        }
        let now = self.now();
        let write = self.inner.store.write(move |tx| {
            store::repository::require(tx, &id)?;
            store::repository_settings::trust(tx, &id, &hash, now)?;
            tx.emit(EventBody::RepositoryChanged { repository_id: id }, now);
            Ok::<_, EngineError>(())
        });
        write.await
    }
}

/// The SHA-256 of a script, in hexadecimal digits.
pub(crate) fn content_hash(content: &str) -> String {
    let digest = Sha256::digest(content.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn checked(update: SettingsUpdate) -> Result<SettingsUpdate, EngineError> {
    let invalid = |field, reason: String| Err(EngineError::InvalidField { field, reason });
    let lists = [("copy", &update.copy), ("links", &update.links)];
    for (field, list) in lists.into_iter().filter_map(|(field, list)| Some((field, list.as_ref()?))) {
        if list.len() > MAX_PLANTED_ENTRIES {
            return invalid(field, format!("at most {MAX_PLANTED_ENTRIES} entries are possible"));
        }
    }
    for pattern in update.copy.iter().flatten() {
        if pattern.trim().is_empty() || pattern.chars().any(char::is_control) || pattern.len() > 1_000 {
            return invalid("copy", format!("{pattern:?} is not a pattern"));
        }
    }
    for (field, script) in [("setup_script", &update.setup), ("teardown_script", &update.teardown)] {
        let Some(script) = script else { continue };
        if script.len() > MAX_SCRIPT_BYTES {
            return invalid(
                field,
                format!("it has {} bytes; at most {MAX_SCRIPT_BYTES} are allowed", script.len()),
            );
        }
        if script.contains('\0') {
            return invalid(field, "it holds a NUL character".into());
        }
    }
    let mut links: Option<Vec<String>> = None;
    for link in update.links.iter().flatten() {
        let link = inner_path(link)
            .map_err(|error| EngineError::InvalidField { field: "links", reason: error.to_string() })?;
        let links = links.get_or_insert_default();
        if !links.contains(&link) {
            links.push(link);
        }
    }
    let links = links.or(update.links.map(|_| Vec::new()));
    Ok(SettingsUpdate { links, ..update })
}
