//! Real repositories for tests, each in a temporary home of its own: nothing of the machine's Git configuration
//! takes part, and nothing outside the home is touched.

#![expect(clippy::expect_used, reason = "a test whose repository cannot be made has failed")]

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// How often a git that met a half-written registration is run, and the pause between.
const LOOKS: u32 = 50;
const LOOK_PAUSE: Duration = Duration::from_millis(10);

/// A repository with one branch, `main`, and one commit or more; gone when dropped.
#[derive(Debug)]
pub struct TempRepo {
    _home: TempDir,
    path: PathBuf,
}

impl TempRepo {
    /// Makes a repository with one committed file, `README.md`.
    #[must_use]
    pub fn new() -> Self {
        let repo = Self::without_commit();
        repo.write("README.md", "# A sample\n");
        repo.commit("Begin");
        repo
    }

    /// Makes a repository without any commit.
    #[must_use]
    pub fn without_commit() -> Self {
        // Resolved, as on some systems the temporary folder is behind a link.
        let home = TempDir::new().expect("a temporary folder");
        let path = home.path().canonicalize().expect("an existing folder").join("repo");
        std::fs::create_dir(&path).expect("a new folder");
        let repo = Self { _home: home, path };
        let config = "[user]\n\tname = A Tester\n\temail = tester@example.invalid\n\
                      [init]\n\tdefaultBranch = main\n[commit]\n\tgpgSign = false\n";
        std::fs::write(repo.config(), config).expect("a written configuration");
        repo.git(&["init", "--quiet"]);
        repo
    }

    /// Makes a repository of so many small files in folders of a hundred, in one commit.
    #[must_use]
    pub fn with_files(count: usize) -> Self {
        let repo = Self::without_commit();
        let mut stream = String::from(
            "commit refs/heads/main\ncommitter A Tester <tester@example.invalid> 1700000000 +0000\ndata 5\nBegin\n",
        );
        for number in 0..count {
            let content = format!("file {number}\nline two\nline three\n");
            let folder = number / 100;
            stream.push_str(&format!("M 644 inline folder-{folder:04}/file-{number:06}.txt\n"));
            stream.push_str(&format!("data {}\n{content}\n", content.len()));
        }
        stream.push_str("done\n");
        repo.feed(&["fast-import", "--quiet", "--done"], stream.as_bytes());
        repo.git(&["reset", "--quiet", "--hard", "main"]);
        repo
    }

    /// The top of its main checkout.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its home: the folder around the checkout, free for worktrees and other folders of the test.
    #[must_use]
    pub fn home(&self) -> &Path {
        self.path.parent().expect("a folder around the repository")
    }

    /// The global Git configuration that takes part; a test may append to it.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.home().join("gitconfig")
    }

    /// The environment that keeps the machine's Git configuration out.
    #[must_use]
    pub fn environment(&self) -> [(&'static str, PathBuf); 3] {
        [
            ("HOME", self.home().to_owned()),
            ("GIT_CONFIG_GLOBAL", self.config()),
            ("GIT_CONFIG_NOSYSTEM", PathBuf::from("1")),
        ]
    }

    /// Writes a file of the main checkout, with the folders around it.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        write_file(&self.path.join(path), content);
    }

    /// Commits everything in the main checkout and returns the commit.
    pub fn commit(&self, message: &str) -> String {
        self.commit_in(&self.path, message)
    }

    /// Commits everything in a worktree and returns the commit.
    pub fn commit_in(&self, worktree: &Path, message: &str) -> String {
        self.git_in(worktree, &["add", "--all"]);
        self.git_in(worktree, &["commit", "--quiet", "--allow-empty", "--message", message]);
        self.git_in(worktree, &["rev-parse", "HEAD"])
    }

    /// Makes a branch at HEAD.
    pub fn branch(&self, name: &str) {
        self.git(&["branch", name]);
    }

    /// Runs git in the main checkout and returns what it printed, without the last line break.
    pub fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.path, arguments)
    }

    /// Runs git in a folder and returns what it printed, without the last line break. Git fails when it looks at
    /// a registration of a worktree that another git is just writing; then it is run again.
    pub fn git_in(&self, folder: &Path, arguments: &[&str]) -> String {
        let mut output = self.try_git_in(folder, arguments);
        for _ in 1..LOOKS {
            if !met_a_half_written_registration(&output) {
                break;
            }
            std::thread::sleep(LOOK_PAUSE);
            output = self.try_git_in(folder, arguments);
        }
        printed(&output, arguments)
    }

    /// Runs git in a folder and returns how it ended, whatever that is.
    pub fn try_git_in(&self, folder: &Path, arguments: &[&str]) -> Output {
        self.command(folder, arguments).output().expect("a git program")
    }

    fn feed(&self, arguments: &[&str], input: &[u8]) {
        let mut command = self.command(&self.path, arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("a git program");
        child.stdin.take().expect("a pipe").write_all(input).expect("a git that reads");
        printed(&child.wait_with_output().expect("a git that ends"), arguments);
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "tests look with a git of their own, not with the one under test"
    )]
    fn command(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GIT_") {
                command.env_remove(name);
            }
        }
        command.envs(self.environment()).env("LC_ALL", "C").current_dir(folder).args(arguments);
        command.stdin(Stdio::null());
        command
    }
}

impl Default for TempRepo {
    fn default() -> Self {
        Self::new()
    }
}

/// Every file, link and directory below a directory by its relative path, with mode and content; the content of a
/// link is its target.
pub fn tree(top: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut open = vec![top.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in directory.read_dir().expect("a directory") {
            let path = entry.expect("an entry").path();
            let metadata = path.symlink_metadata().expect("something there");
            let content = if metadata.is_symlink() {
                path.read_link().expect("a link").into_os_string().into_encoded_bytes()
            } else if metadata.is_file() {
                std::fs::read(&path).expect("a readable file")
            } else {
                Vec::new()
            };
            found.insert(
                path.strip_prefix(top).expect("a path inside").to_owned(),
                (metadata.mode(), content),
            );
            if metadata.is_dir() {
                open.push(path);
            }
        }
    }
    found
}

/// Writes a file, with the folders around it.
pub fn write_file(path: &Path, content: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().expect("a folder around the file")).expect("new folders");
    std::fs::write(path, content).expect("a written file");
}

fn met_a_half_written_registration(output: &Output) -> bool {
    let stderr = String::from_utf8_lossy(&output.stderr);
    !output.status.success() && stderr.contains("/worktrees/") && stderr.contains("failed to read")
}

fn printed(output: &Output, arguments: &[&str]) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?} failed: {stderr}");
    String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned()
}
