//! The tracked files of a repository: what Git would commit now, and nothing else.

use std::path::{Path, PathBuf};

use crate::Failure;
use crate::program::{output_of, program};

/// One tracked file that holds text.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Its path relative to the repository, with `/`.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl SourceFile {
    /// Makes a file of a name and a text.
    #[must_use]
    pub fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    /// The last part of the path.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The part of the name after its last dot; empty when there is none.
    #[must_use]
    pub fn extension(&self) -> &str {
        self.name().rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    /// Whether the whole file is test code: an integration test, a browser test or a module of tests.
    #[must_use]
    pub fn is_test(&self) -> bool {
        let name = self.name();
        name == "tests.rs"
            || name.ends_with("_tests.rs")
            || name.contains(".test.")
            || name.contains(".spec.")
            || self.path.split('/').any(|part| part == "tests" || part == "e2e")
    }
}

/// The tracked files that hold text, and the names of all.
#[derive(Debug, Default)]
pub struct Tree {
    /// Every tracked path, also of pictures.
    pub paths: Vec<String>,
    /// The files that hold text.
    pub files: Vec<SourceFile>,
}

impl Tree {
    /// Reads the files that Git tracks in the repository of this crate.
    pub fn of_this_repository() -> Result<Self, Failure> {
        let root = repository_root();
        let listed = output_of(program("git").args(["ls-files", "-z"]))?;
        let mut tree = Self::default();
        for path in listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
            let path = String::from_utf8(path.to_vec())
                .map_err(|error| Failure::new(format!("a tracked path is not UTF-8: {error}")))?;
            match std::fs::read(root.join(&path)) {
                Ok(bytes) => {
                    if let Ok(text) = String::from_utf8(bytes) {
                        tree.files.push(SourceFile { path: path.clone(), text });
                    }
                    tree.paths.push(path);
                }
                // Removed from the working tree and not yet from the index, or a link that leads nowhere.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(Failure::new(format!("could not read {path}: {error}"))),
            }
        }
        Ok(tree)
    }

    /// The Rust files.
    pub fn rust(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| file.extension() == "rs")
    }

    /// The file with this path, when it is tracked and holds text.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<&SourceFile> {
        self.files.iter().find(|file| file.path == path)
    }
}

/// The root of the repository that this crate was built from.
#[must_use]
pub fn repository_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}
