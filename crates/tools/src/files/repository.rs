//! Files that git runs because of their location, under any name.
//!
//! The check reads the disk, so the call itself makes it and refuses such a file. Files
//! that are guarded by their name need an approval before the call (`guard`).

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};

/// The largest part of a configuration that is read, in bytes.
const LONGEST: u64 = 256 << 10;

/// Returns the reason why git runs the file at a path below a directory, if it does.
///
/// Both are real paths.
pub(super) fn why(root: &Path, path: &Path) -> Option<String> {
    if let Some(directory) = git_directory(root, path) {
        let name = directory.file_name().unwrap_or(directory.as_os_str());
        return Some(format!("{name:?} is a directory of git's own: git obeys what is in it"));
    }
    let file = root.join(path);
    let is_hook = hooks(&file).iter().any(|hooks| match file.starts_with(hooks) {
        // In a directory of hooks that contains the project, only its direct files are hooks.
        true if root.starts_with(hooks) => file.parent() == Some(hooks),
        is_below => is_below,
    });
    is_hook.then(|| "core.hooksPath names its directory: git runs it".to_owned())
}

/// Returns the git directory that contains a path, or that the path would complete.
fn git_directory(root: &Path, path: &Path) -> Option<PathBuf> {
    for above in path.ancestors().skip(1) {
        let directory = root.join(above);
        // A checkout below such a directory does not belong to it.
        if directory.join(".git").symlink_metadata().is_ok() {
            return None;
        }
        let entry = path.strip_prefix(above).ok()?.components().next()?;
        let has = |name: &str| {
            let is_it = entry.as_os_str().eq_ignore_ascii_case(name);
            is_it || directory.join(name).symlink_metadata().is_ok()
        };
        if has("HEAD") && (has("commondir") || (has("objects") && has("refs"))) {
            return Some(directory);
        }
    }
    None
}

/// Returns the directories of hooks of the repository with a file.
fn hooks(file: &Path) -> Vec<PathBuf> {
    let is_top = |above: &&Path| above.join(".git").symlink_metadata().is_ok();
    let Some(top) = file.ancestors().skip(1).find(is_top) else { return Vec::new() };
    let home = std::env::home_dir();
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let own = match variable("GIT_CONFIG_GLOBAL") {
        Some(file) => vec![file],
        None => {
            let folder = variable("XDG_CONFIG_HOME");
            let folder = folder.or_else(|| Some(home.as_ref()?.join(".config")));
            let own = home.as_ref().map(|home| home.join(".gitconfig"));
            folder.map(|folder| folder.join("git/config")).into_iter().chain(own).collect()
        }
    };
    let found = configurations(top).into_iter().chain(own).filter_map(|file| text(&file));
    let found: Vec<_> = found.flat_map(|text| hooks_paths(&text)).collect();
    let places = found.iter().map(|written| match (written.strip_prefix("~/"), &home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => top.join(written),
    });
    places.map(|place| place.canonicalize().unwrap_or_else(|_| plain(&place))).collect()
}

/// Returns the configuration files of the repository that is checked out at a directory.
fn configurations(top: &Path) -> Vec<PathBuf> {
    let named = |file: PathBuf, begins: &str| {
        let text = text(&file)?;
        Some(text.strip_prefix(begins)?.trim_end().to_owned())
    };
    let git = top.join(".git");
    let git = match named(git.clone(), "gitdir: ") {
        Some(elsewhere) => top.join(elsewhere),
        None => git,
    };
    let common = match named(git.join("commondir"), "") {
        Some(elsewhere) => git.join(elsewhere),
        None => git.clone(),
    };
    vec![common.join("config"), git.join("config.worktree")]
}

/// Reads the beginning of a regular file. A pipe does not block.
fn text(file: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(file, flags, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&opened).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return None;
    }
    let mut bytes = Vec::new();
    File::from(opened).take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the values of `core.hooksPath` in a configuration.
fn hooks_paths(text: &str) -> Vec<String> {
    let text = text.replace("\\\r\n", "").replace("\\\n", "");
    let mut is_core = false;
    let mut found = Vec::new();
    for line in text.lines() {
        let mut line = line.trim_start();
        if let Some((section, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']'))
        {
            is_core = section.trim().eq_ignore_ascii_case("core");
            line = rest.trim_start();
        }
        let Some((key, value)) = line.split_once('=').filter(|_| is_core) else { continue };
        if key.trim().eq_ignore_ascii_case("hookspath") {
            found.push(value_of(value));
        }
    }
    found.retain(|value| !value.is_empty());
    found
}

/// Returns a value without its quotes and its comment.
fn value_of(written: &str) -> String {
    let mut value = String::new();
    let mut is_quoted = false;
    let mut letters = written.trim().chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => break,
            '\\' => value.extend(letters.next()),
            letter => value.push(letter),
        }
    }
    value.trim_end().to_owned()
}

/// Removes `.` and `..` from a path, without reading the disk.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hooks_path_is_read_as_git_writes_it() {
        for (text, found) in [
            ("[core]\n\tbare = false\n\thooksPath = tools/hooks\n", "tools/hooks"),
            ("[core] hookspath=\"a b\" ; why\n", "a b"),
            ("[CORE]\nHooksPath = \\\n  x # y\n", "x"),
            ("[core \"x\"]\nhooksPath = x\n[alias]\nhooksPath = y\n", ""),
            ("[core]\nhooksPath\n", ""),
        ] {
            assert_eq!(hooks_paths(text).join("|"), found, "{text}");
        }
    }
}
