//! Reads the system's table of processes, `/proc`. Where there is none, it reads as empty.

use super::{EXECUTION_VARIABLE, ProcessIdentity};

/// One process as the table tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) pid: u32,
    pub(super) group: u32,
    pub(super) start_ticks: u64,
    /// Dead and only waiting to be reaped by its parent.
    pub(super) is_zombie: bool,
}

/// Names a process beyond doubt, as far as the system tells.
pub(super) fn identify(pid: u32) -> ProcessIdentity {
    ProcessIdentity { pid, start_ticks: find(pid).map_or(0, |entry| entry.start_ticks), boot_id: boot_id() }
}

/// Reads the kernel's id of the current boot.
pub(super) fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Reads one process.
pub(super) fn find(pid: u32) -> Option<Entry> {
    parse_stat(pid, &std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Lists every process but this one that is not a zombie.
pub(super) fn list() -> Vec<Entry> {
    let Ok(folder) = std::fs::read_dir("/proc") else { return Vec::new() };
    folder
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != std::process::id())
        .filter_map(find)
        .filter(|entry| !entry.is_zombie)
        .collect()
}

/// Reads the execution mark of a process; none when it has none or may not be read.
pub(super) fn execution_of(pid: u32) -> Option<String> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    environment.split(|byte| *byte == 0).find_map(|variable| {
        let value = variable.strip_prefix(EXECUTION_VARIABLE.as_bytes())?.strip_prefix(b"=")?;
        String::from_utf8(value.to_vec()).ok()
    })
}

/// The name in the second field may hold spaces and parentheses, so fields are counted from its last `)`.
fn parse_stat(pid: u32, stat: &str) -> Option<Entry> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    Some(Entry {
        pid,
        is_zombie: matches!(*fields.first()?, "Z" | "X"),
        group: fields.get(2)?.parse().ok()?,
        start_ticks: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let stat = "7 (a) b (c)) S 1 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 9001 1 1";
        let expected = Entry { pid: 7, group: 42, start_ticks: 9001, is_zombie: false };
        assert_eq!(parse_stat(7, stat), Some(expected));
    }
}
