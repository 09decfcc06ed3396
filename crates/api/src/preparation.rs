//! What workspaces get besides tracked files: settings of repositories, and what came of them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::repository::Repository;

/// What a person set for the workspaces of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RepositorySettings {
    /// Patterns in the syntax of `.gitignore`: ignored files of the main checkout that are copied, beyond those
    /// that `.worktreeinclude` lists.
    pub copy: Vec<String>,
    /// Paths that become links into the main checkout, relative to its top.
    pub links: Vec<String>,
    /// What `sh` runs in a new worktree; empty for nothing.
    pub setup_script: String,
    /// What `sh` runs before a worktree is given back; empty for nothing.
    pub teardown_script: String,
    /// `off`: the folders of submodules stay empty; `on`: they are checked out from the main checkout's copies.
    pub submodules: String,
}

/// A repository with what is set for its workspaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RepositoryDetail {
    /// The repository.
    pub repository: Repository,
    /// What a person set.
    pub settings: RepositorySettings,
    /// The scripts that the main checkout names itself.
    pub scripts: Vec<RepositoryScript>,
}

/// A script that a repository names itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RepositoryScript {
    /// Its path in the repository.
    pub path: String,
    /// The SHA-256 of its content, in hexadecimal digits.
    pub sha256: String,
    /// Its content.
    pub content: String,
    /// Whether a person trusted exactly this content; another is not run.
    pub trusted: bool,
}

/// Changes what is set for the workspaces of a repository; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UpdateRepository {
    /// Patterns of files to copy, in place of those before.
    #[serde(default)]
    pub copy: Option<Vec<String>>,
    /// Paths to link, in place of those before.
    #[serde(default)]
    pub links: Option<Vec<String>>,
    /// The set-up script; empty for none.
    #[serde(default)]
    pub setup_script: Option<String>,
    /// The tear-down script; empty for none.
    #[serde(default)]
    pub teardown_script: Option<String>,
    /// `off` or `on`.
    #[serde(default)]
    pub submodules: Option<String>,
}

/// Trusts a script that a repository names itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TrustScript {
    /// The SHA-256 of the content that may run, in hexadecimal digits.
    pub sha256: String,
}

/// What a worktree got besides its tracked files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Preparation {
    /// How many files were copied.
    pub copied_files: u64,
    /// How many bytes they have.
    pub copied_bytes: u64,
    /// The paths that are links into the main checkout.
    pub links: Vec<String>,
    /// What was neither copied nor linked; the first hundred.
    pub skipped: Vec<SkippedFile>,
    /// How many were neither copied nor linked.
    pub skipped_total: u64,
    /// What to know about the worktree, in sentences.
    pub notes: Vec<String>,
}

/// A file that was neither copied nor linked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SkippedFile {
    /// Its path, relative to the checkout.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// One run of a script in a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Setup {
    /// Its id.
    pub id: String,
    /// The repository of the environment.
    pub environment_repo_id: String,
    /// `setup` or `teardown`.
    pub kind: String,
    /// `pending`, `running`, `succeeded`, `failed`, `timed_out`, `interrupted` or `untrusted`.
    pub state: String,
    /// The exit code, when it ended by itself.
    pub exit_code: Option<i64>,
    /// The end of what it printed, or why it was not run.
    pub output: String,
    /// When it was asked for.
    pub created_at: String,
    /// When it began.
    pub started_at: Option<String>,
    /// When it ended.
    pub finished_at: Option<String>,
}

/// Ports that are reserved for a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PortBlock {
    /// The first; programs of the workspace find it in `FREEHOLD_PORT` and `PORT`.
    pub first: u16,
    /// The last.
    pub last: u16,
}
