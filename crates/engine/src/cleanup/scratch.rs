//! Scratch folders when their task closes: an empty one goes, any other waits for a person.

use std::path::Path;

use freehold_domain::cleanup::{MAX_STAKE_ITEMS, ResourceSnapshot, Stake, StakeKind};
use freehold_domain::environment::WorkspaceKind;

/// Tells what is in the scratch folder of a snapshot; none when the snapshot has no scratch folder.
pub(super) fn stakes(snapshot: &ResourceSnapshot) -> Option<Vec<Stake>> {
    if snapshot.executor_type != WorkspaceKind::Scratch.as_str() {
        return None;
    }
    let path = Path::new(&snapshot.workspace_path);
    let stake = |kind, items: Vec<String>, detail: &str| {
        let total = u64::try_from(items.len()).unwrap_or(u64::MAX);
        let items = items.into_iter().take(MAX_STAKE_ITEMS).collect();
        vec![Stake {
            kind,
            worktree_path: snapshot.workspace_path.clone(),
            items,
            total,
            detail: detail.into(),
        }]
    };
    let metadata = match path.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(Vec::new()),
        Err(error) => {
            let detail = format!("The scratch folder could not be looked at: {error}");
            return Some(stake(StakeKind::Unknown, Vec::new(), &detail));
        }
        Ok(metadata) => metadata,
    };
    if !metadata.is_dir() {
        return Some(stake(
            StakeKind::Occupied,
            Vec::new(),
            "Something else is where the scratch folder was.",
        ));
    }
    Some(match names_in(path) {
        Ok(names) if names.is_empty() => Vec::new(),
        Ok(names) => {
            let detail =
                "The scratch folder has files, and they are nowhere else. Move what you want to keep.";
            stake(StakeKind::Untracked, names, detail)
        }
        Err(error) => {
            let detail = format!("The scratch folder could not be read: {error}");
            stake(StakeKind::Unknown, Vec::new(), &detail)
        }
    })
}

fn names_in(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in folder.read_dir()? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}
