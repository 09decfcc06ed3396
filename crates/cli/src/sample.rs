//! The sample repository: a small Python program, to try Freehold on something that nobody minds.

use std::path::Path;

use freehold_api::repository::AddRepository;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::made_repository::{NewCommit, make};

const NAME: &str = "sample";

macro_rules! sample {
    ($($path:literal = $file:literal),+ $(,)?) => {
        vec![$(($path.to_owned(), include_str!(concat!("../sample/", $file)).to_owned())),+]
    };
}

/// Makes the sample repository, unless it is there, and registers it.
pub(crate) fn register(connection: &Connection, path: &Path) -> Result<(), Failure> {
    if !path.exists() {
        make(path, &commits())?;
    }
    let request =
        AddRepository { path: path.display().to_string(), name: Some(NAME.to_owned()), workspace_id: None };
    connection.client.add_repository(&request)?;
    Ok(())
}

fn commits() -> Vec<NewCommit> {
    let commit = |message: &str, files| NewCommit { message: message.to_owned(), files };
    vec![
        commit(
            "Know what is on the shelf",
            sample!(
                ".editorconfig" = "editorconfig.txt",
                ".gitignore" = "gitignore.txt",
                "pyproject.toml" = "pyproject.toml",
                "src/pantry/__init__.py" = "src/pantry/init.py",
                "src/pantry/shelf.py" = "src/pantry/shelf.py",
                "tests/test_shelf.py" = "tests/test_shelf.py",
            ),
        ),
        commit(
            "Keep the shelf in a file and give it a command line",
            sample!(
                "src/pantry/__main__.py" = "src/pantry/main.py",
                "src/pantry/cli.py" = "src/pantry/cli.py",
                "src/pantry/store.py" = "src/pantry/store.py",
            ),
        ),
        commit(
            "Say how to use it and why it is made this way",
            sample!(
                "CHANGELOG.md" = "CHANGELOG.md",
                "README.md" = "README.md",
                "docs/design.md" = "docs/design.md",
                "docs/usage.md" = "docs/usage.md",
            ),
        ),
    ]
}
