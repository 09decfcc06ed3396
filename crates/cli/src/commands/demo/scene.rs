//! The temporary folder in which the story is played.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::arguments::DemoOptions;
use crate::failure::{Exit, Failure};
use crate::made_repository::{NewCommit, make};
use crate::program::{git, output_of};

/// How many files a folder of the made-up repository has.
const FILES_PER_FOLDER: u32 = 50;

/// Where the story is played, and on what.
pub(crate) struct Scene {
    folder: TempDir,
    source: Source,
    /// The database that was named; none for one in the home folder.
    pub(crate) database: Option<String>,
}

enum Source {
    Made { files: u32 },
    Cloned { from: PathBuf },
}

impl Scene {
    /// Makes the folder.
    pub(crate) fn make(options: &DemoOptions, database: Option<&str>) -> Result<Self, Failure> {
        let source = match &options.repo {
            Some(path) => {
                let from = path.canonicalize().map_err(|source| {
                    let failure = Failure::file("find the repository", path, &source);
                    Failure { exit: Exit::NotFound, ..failure }
                })?;
                Source::Cloned { from }
            }
            None => Source::Made { files: options.files },
        };
        let folder = tempfile::Builder::new().prefix("freehold-demo-").tempdir();
        let folder =
            folder.map_err(|source| Failure::file("make a folder in", &std::env::temp_dir(), &source))?;
        Ok(Self { folder, source, database: database.map(str::to_owned) })
    }

    /// The home folder of the scene's server.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// What the scene's server says.
    pub(crate) fn server_log(&self) -> PathBuf {
        self.folder.path().join("server.log")
    }

    /// The main checkout, which nobody may change.
    pub(crate) fn checkout(&self) -> PathBuf {
        self.folder.path().join("checkout")
    }

    /// Makes the main checkout: a made-up repository, or a clone of the one named, which is only read.
    pub(crate) fn make_checkout(&self) -> Result<(), Failure> {
        let checkout = self.checkout();
        match &self.source {
            Source::Made { files } => make(&checkout, &made_up(*files)),
            Source::Cloned { from } => {
                let mut clone = git(self.folder.path());
                clone.args(["clone", "--quiet", "--no-local", "--"]).arg(from).arg(&checkout);
                output_of(&mut clone).map(drop)
            }
        }
    }

    /// How many files are in the main checkout, as Git knows them.
    pub(crate) fn count_files(&self) -> Result<usize, Failure> {
        let listed = output_of(git(&self.checkout()).args(["ls-files", "-z"]))?;
        Ok(listed.split('\0').filter(|path| !path.is_empty()).count())
    }

    /// Leaves the folder on disk.
    pub(crate) fn keep(self) -> PathBuf {
        self.folder.keep()
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

fn made_up(files: u32) -> Vec<NewCommit> {
    let file = |number: u32| {
        let (folder, part) = (number / FILES_PER_FOLDER, number % FILES_PER_FOLDER);
        let content =
            format!("Part {part} of module {folder}.\n\nIt knows its number, {number}, and no more.\n");
        (format!("modules/m{folder:03}/part-{part:02}.txt"), content)
    };
    let readme = "# A repository made up for the demo\n\nMany small files, in modules of fifty.\n".to_owned();
    let first =
        NewCommit { message: "Lay out the modules".to_owned(), files: (1..files).map(file).collect() };
    let second =
        NewCommit { message: "Say what this is".to_owned(), files: vec![("README.md".to_owned(), readme)] };
    vec![first, second]
}
