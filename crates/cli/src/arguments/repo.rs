//! `freehold repo …`: what workspaces of a repository get.

use clap::Args;

/// Set what new workspaces get.
#[derive(Debug, Args)]
#[command(after_help = "\
What is not named stays as it is. An empty value takes away: --copy '', --link '', --setup ''.
Scripts run with `sh` in the worktree; FREEHOLD_TASK_ID, FREEHOLD_WORKSPACE, FREEHOLD_REPOSITORY, FREEHOLD_PORT,
FREEHOLD_PORTS and PORT tell them what they need.

Examples:
  freehold repo set shop --copy .env --copy 'config/*.key' --link node_modules
  freehold repo set shop --setup setup.sh --teardown teardown.sh --submodules on")]
pub(crate) struct SetRepository {
    /// The repository by name, id or path
    pub(crate) repo: String,
    /// A pattern, as in .gitignore, of ignored files to copy from the main checkout; can be repeated
    #[arg(long, value_name = "GLOB", num_args = 1)]
    pub(crate) copy: Option<Vec<String>>,
    /// A path that becomes a link into the main checkout; can be repeated
    #[arg(long = "link", value_name = "PATH", num_args = 1)]
    pub(crate) links: Option<Vec<String>>,
    /// A script to run in new workspaces; its content is stored, and setting it trusts it
    #[arg(long, value_name = "FILE")]
    pub(crate) setup: Option<String>,
    /// A script to run before a workspace is given back
    #[arg(long, value_name = "FILE")]
    pub(crate) teardown: Option<String>,
    /// Whether to check submodules out, from the copies of the main checkout
    #[arg(long, value_name = "on|off", value_parser = ["on", "off"])]
    pub(crate) submodules: Option<String>,
}

/// Trust the scripts of a repository.
#[derive(Debug, Args)]
#[command(after_help = "\
Without --sha256, shows and trusts the scripts of the main checkout: .freehold/setup.sh and .freehold/teardown.sh.
A script that changed is not run until it is trusted again.")]
pub(crate) struct TrustRepository {
    /// The repository by name, id or path
    pub(crate) repo: String,
    /// Trust exactly the content with this SHA-256
    #[arg(long, value_name = "HASH")]
    pub(crate) sha256: Option<String>,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}
