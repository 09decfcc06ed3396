//! The home folder: everything that Freehold keeps on this machine beside the database and the repositories.
//!
//! ```text
//! ~/.freehold/          0700
//!   freehold.lock       held by the server that runs
//!   freehold.db         the embedded database, unless another is named
//!   token               0600; who has it may do everything
//!   node-id             this folder, as the database knows it
//!   server.json         where the server that runs is found
//!   workspaces/         the tasks' workspaces; only Freehold makes and removes folders here
//!   scratch/            what Git's use leaves for a moment
//!   sample/             the sample repository, when it was asked for
//! ```
//!
//! Files that others may read while they are written are put in place by renaming, so that nobody sees half of
//! one.

use std::fs::{OpenOptions, Permissions};
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use freehold_domain::clock::IdSource;
use freehold_domain::id::NodeId;
use freehold_server::AccessToken;
use freehold_store::DatabaseUrl;
use serde::{Deserialize, Serialize};

use crate::failure::{Exit, Failure};

/// A home folder by its absolute path; it need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Home {
    root: PathBuf,
}

/// Where the server that runs is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServerRecord {
    /// The address it listens on.
    pub(crate) address: SocketAddr,
    /// Its process number.
    pub(crate) pid: u32,
    /// Its version.
    pub(crate) version: String,
    /// Its database, without a password.
    pub(crate) database: String,
}

impl Home {
    /// Chooses the folder: the one named, or else `~/.freehold`.
    pub(crate) fn locate(named: Option<&Path>) -> Result<Self, Failure> {
        let root = match named {
            Some(path) => std::path::absolute(path)
                .map_err(|source| Failure::file("find the home folder", path, &source))?,
            None => default_root()?,
        };
        Ok(Self { root })
    }

    /// Makes the folder, closed to everybody else, and the folders in it.
    pub(crate) fn create(&self) -> Result<(), Failure> {
        for folder in [self.root.clone(), self.workspaces(), self.scratch()] {
            std::fs::create_dir_all(&folder)
                .map_err(|source| Failure::file("make the folder", &folder, &source))?;
        }
        std::fs::set_permissions(&self.root, Permissions::from_mode(0o700))
            .map_err(|source| Failure::file("close to others the folder", &self.root, &source))
    }

    /// The folder itself.
    #[must_use]
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of the tasks' workspaces.
    #[must_use]
    pub(crate) fn workspaces(&self) -> PathBuf {
        self.root.join("workspaces")
    }

    /// The repository of the seals of folders.
    #[must_use]
    pub(crate) fn folder_seals(&self) -> PathBuf {
        self.root.join("folder-seals")
    }

    /// The folder for what the use of Git leaves for a moment.
    #[must_use]
    pub(crate) fn scratch(&self) -> PathBuf {
        self.root.join("scratch")
    }

    /// The sample repository.
    #[must_use]
    pub(crate) fn sample(&self) -> PathBuf {
        self.root.join("sample")
    }

    /// The database to use: the one named, or else the embedded one of this folder.
    pub(crate) fn database(&self, named: Option<&str>) -> Result<DatabaseUrl, Failure> {
        match named {
            Some(text) => Ok(DatabaseUrl::parse(text)?),
            None => Ok(DatabaseUrl::Sqlite(self.root.join("freehold.db"))),
        }
    }

    /// Reads the access token; none before the first start.
    pub(crate) fn find_token(&self) -> Result<Option<String>, Failure> {
        self.find_text("token")
    }

    /// Reads the access token, making it at the first start.
    pub(crate) fn require_token(&self) -> Result<AccessToken, Failure> {
        let path = self.root.join("token");
        if let Some(text) = self.find_token()? {
            return AccessToken::parse(&text).map_err(|error| {
                let message = format!("{} is damaged: {error}", path.display());
                Failure::new(Exit::Failure, "home_not_usable", message)
                    .hint("delete the file; a new token is made at the next start")
                    .subject(path.display().to_string())
            });
        }
        let token =
            AccessToken::generate().map_err(|source| Failure::file("make a token for", &path, &source))?;
        self.write("token", token.reveal())?;
        Ok(token)
    }

    /// Reads the id under which the database knows this folder, making it at the first start.
    pub(crate) fn require_node_id(&self, ids: &dyn IdSource) -> Result<NodeId, Failure> {
        let id = match self.find_text("node-id")? {
            Some(text) => text,
            None => {
                let id = ids.next_id();
                self.write("node-id", &id)?;
                id
            }
        };
        NodeId::new(id).map_err(|error| {
            let path = self.root.join("node-id").display().to_string();
            Failure::new(Exit::Failure, "home_not_usable", format!("{path} is damaged: {error}"))
                .subject(path)
        })
    }

    /// Reads where a server said it listens; it need not run any more.
    #[must_use]
    pub(crate) fn find_server(&self) -> Option<ServerRecord> {
        let text = std::fs::read_to_string(self.root.join("server.json")).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Says where the server listens.
    pub(crate) fn write_server(&self, record: &ServerRecord) -> Result<(), Failure> {
        let text = serde_json::to_string(record).unwrap_or_default();
        self.write("server.json", &text)
    }

    /// Takes back what the process said about its server.
    pub(crate) fn forget_server(&self, pid: u32) {
        if self.find_server().is_some_and(|record| record.pid == pid) {
            // A record that stays does no harm: whoever reads it asks the server whether it is there.
            let _ = std::fs::remove_file(self.root.join("server.json"));
        }
    }

    fn find_text(&self, name: &str) -> Result<Option<String>, Failure> {
        let path = self.root.join(name);
        match std::fs::read_to_string(&path) {
            Ok(text) if text.trim().is_empty() => Ok(None),
            Ok(text) => Ok(Some(text.trim().to_owned())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Failure::file("read", &path, &source)),
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let (path, draft) = (self.root.join(name), self.root.join(format!(".{name}.new")));
        let write = || {
            let mut options = OpenOptions::new();
            let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
            // An older draft that a crash left keeps its mode when it is opened again.
            file.set_permissions(Permissions::from_mode(0o600))?;
            writeln!(file, "{text}")?;
            file.sync_all()?;
            std::fs::rename(&draft, &path)
        };
        write().map_err(|source| Failure::file("write", &path, &source))
    }
}

fn default_root() -> Result<PathBuf, Failure> {
    let folders = directories::BaseDirs::new().ok_or_else(|| {
        Failure::new(Exit::Usage, "no_home", "this user has no home directory")
            .hint("name a folder with --home or FREEHOLD_HOME")
    })?;
    Ok(folders.home_dir().join(".freehold"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_and_nobody_else_may_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::locate(Some(&folder.path().join("home"))).unwrap();
        home.create().unwrap();
        assert_eq!(home.find_token().unwrap(), None);
        let token = home.require_token().unwrap();
        assert_eq!(home.require_token().unwrap(), token);
        assert_eq!(home.find_token().unwrap().as_deref(), Some(token.reveal()));
        std::fs::write(home.root().join("token"), "short").unwrap();
        assert!(home.require_token().unwrap_err().body.message.contains("damaged"));
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&home.root().join("token")), 0o600);
        assert_eq!(mode(home.root()), 0o700);
    }
}
