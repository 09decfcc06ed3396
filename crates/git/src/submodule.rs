//! Submodules of a new worktree, from the copies that the main checkout has: nothing is fetched.
//!
//! The settings of the repository stay as they are; where a copy comes from is said for one command alone.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use crate::command::path_from_bytes;
use crate::lock::RepositoryLock;
use crate::{Git, GitError};

/// How long one submodule may take.
const TIME_LIMIT: Duration = Duration::from_secs(10 * 60);

impl Git {
    /// Checks out the submodules of a worktree that the main checkout has, and tells in sentences which failed.
    pub fn check_out_submodules(&self, worktree: &Path) -> Result<Vec<String>, GitError> {
        let common_dir = self.common_dir(worktree)?;
        let mut notes = Vec::new();
        let found = self.submodules(worktree)?;
        if found.is_empty() {
            return Ok(notes);
        }
        let lock = self.lock_repository(&common_dir)?;
        for (name, path) in found {
            let is_plain = Path::new(&name).components().all(|part| matches!(part, Component::Normal(_)));
            let copy = common_dir.join("modules").join(&name);
            // One without a copy stays empty, which is told with everything else about the worktree.
            if !is_plain || name.contains(['=', '\n']) || !copy.join("HEAD").is_file() {
                continue;
            }
            if let Err(error) = self.check_out_submodule(worktree, &name, &path, &copy, &lock) {
                notes.push(format!("The submodule {} could not be checked out: {error}.", path.display()));
            }
        }
        Ok(notes)
    }

    /// The name and path of every submodule that the index and `.gitmodules` both know.
    fn submodules(&self, worktree: &Path) -> Result<Vec<(String, PathBuf)>, GitError> {
        let file = worktree.join(".gitmodules");
        if !file.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Ok(Vec::new());
        }
        let command = self.read("reading the submodules of", worktree).args(["config", "-z", "--file"]);
        let command = command.arg(&file).args(["--get-regexp", r"^submodule\..*\.path$"]);
        let listed = command.answer()?.unwrap_or_default();
        let mut found = Vec::new();
        for line in listed.split(|byte| *byte == 0) {
            let line = String::from_utf8_lossy(line);
            let Some((key, path)) = line.split_once('\n') else { continue };
            let name = key.strip_prefix("submodule.").and_then(|key| key.strip_suffix(".path"));
            let command = self.read("looking for a submodule in", worktree);
            let command = command.args(["--literal-pathspecs", "ls-files", "--stage", "-z", "--", path]);
            if let Some(name) = name
                && command.stdout()?.starts_with(b"160000 ")
            {
                found.push((name.to_owned(), path_from_bytes(path.as_bytes())));
            }
        }
        Ok(found)
    }

    fn check_out_submodule(
        &self,
        worktree: &Path,
        name: &str,
        path: &Path,
        copy: &Path,
        lock: &RepositoryLock,
    ) -> Result<(), GitError> {
        let setting = |key: &str, value: &str| format!("submodule.{name}.{key}={value}");
        let command = self.write("checking out a submodule of", worktree, lock);
        let command = command.args(["-c", "protocol.file.allow=always"]);
        let command = command.args(["-c", &setting("url", &copy.to_string_lossy())]);
        let command = command.args(["-c", &setting("active", "true")]);
        let command = command.args(["submodule", "--quiet", "update", "--checkout", "--"]);
        command.args([path]).run_within(TIME_LIMIT, || true)?;
        // The copy was only the nearest place; from now on the submodule talks to the one that a person set.
        let key = format!("submodule.{name}.url");
        let url = self.read("reading the settings of", worktree).args(["config", "--get", &key]).answer()?;
        let Some(url) = url else { return Ok(()) };
        let url = String::from_utf8_lossy(url.trim_ascii_end()).into_owned();
        let command = self.write("setting the remote of", &worktree.join(path), lock);
        command.args(["remote", "set-url", "origin", &url]).run()
    }
}
