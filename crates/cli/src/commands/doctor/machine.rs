//! What the machine brings along: Git, and control groups to hold agents in.

use super::Finding;

/// Looks for Git.
pub(super) fn git() -> Finding {
    match find_git() {
        Ok(git) => Finding::ok("git", format!("version {}", git.version())),
        Err(message) => Finding::fail("git", message, "install Git 2.34 or newer"),
    }
}

/// Finds Git, to list worktrees with; its scratch folder is gone at once, since listing needs none.
pub(super) fn find_git() -> Result<freehold_git::Git, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    freehold_git::Git::open(folder.path()).map_err(|error| error.to_string())
}

/// Looks whether agents can be held in control groups, the net that nothing slips through.
pub(super) fn control_groups() -> Finding {
    const CHECK: &str = "control groups";
    let otherwise = "agents are ended by process group and mark, which is enough for all but hostile ones";
    match own_group() {
        Some(folder) if rustix::fs::access(&folder, rustix::fs::Access::WRITE_OK).is_ok() => {
            Finding::ok(CHECK, format!("agents get groups of their own below {}", folder.display()))
        }
        Some(_) => Finding::ok(CHECK, format!("not delegated to this user; {otherwise}")),
        None => Finding::ok(CHECK, format!("not available; {otherwise}")),
    }
}

fn own_group() -> Option<std::path::PathBuf> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let folder = std::path::Path::new("/sys/fs/cgroup").join(own);
    folder.join("cgroup.kill").exists().then_some(folder)
}

/// Finds a program as an agent would be found: an absolute path, or a name in `PATH`.
pub(super) fn is_program(command: &str) -> bool {
    let path = std::path::Path::new(command);
    let is_executable = |path: &std::path::Path| {
        path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
    };
    if path.is_absolute() {
        return is_executable(path);
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| is_executable(&folder.join(path)))
}
