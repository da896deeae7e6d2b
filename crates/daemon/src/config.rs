//! The configuration of a user: `config.json` beside the user's profiles.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use offshoot_profiles::Profiles;
use offshoot_sandbox::ResourceLimits;
use serde::{Deserialize, Serialize};

/// The name of the file.
const NAME: &str = "config.json";

/// The configuration for all sessions.
///
/// ```json
/// {"commands": {"pass_env": ["GH_TOKEN"], "processes": 512, "memory_mib": 4096, "open_files": 4096}}
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The commands of agents.
    pub commands: CommandConfig,
}

/// The configuration for commands of agents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CommandConfig {
    /// The variables that commands get although they look like credentials.
    pub pass_env: Vec<String>,
    /// The most processes and threads of a command.
    pub processes: Option<u64>,
    /// The most private writable memory of each process, in MiB.
    pub memory_mib: Option<u64>,
    /// The most open files of each process.
    pub open_files: Option<u64>,
}

/// The reason for which a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration {path:?} cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The file is malformed.
    #[error("the configuration {path:?} is wrong: {source}")]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The error in it.
        source: serde_json::Error,
    },
}

impl Config {
    /// The path of the configuration of the user who runs this process.
    pub fn own_file() -> Option<PathBuf> {
        Some(Profiles::own_folder()?.with_file_name(NAME))
    }

    /// Reads the configuration of the user who runs this process. Without a file it is the
    /// default.
    pub fn own() -> Result<Self, ConfigError> {
        Self::own_file().map_or_else(|| Ok(Self::default()), |path| Self::read(&path))
    }

    fn read(path: &Path) -> Result<Self, ConfigError> {
        let path = path.to_owned();
        match std::fs::read(&path) {
            Ok(json) => {
                serde_json::from_slice(&json).map_err(|source| ConfigError::Wrong { path, source })
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(ConfigError::Unreadable { path, source }),
        }
    }
}

impl CommandConfig {
    /// The resource limits of confined commands.
    pub fn limits(&self) -> ResourceLimits {
        let mut limits = ResourceLimits::default();
        if let Some(count) = self.processes {
            limits = limits.processes(count);
        }
        if let Some(mib) = self.memory_mib {
            limits = limits.memory(mib.saturating_mul(1 << 20));
        }
        if let Some(count) = self.open_files {
            limits = limits.open_files(count);
        }
        limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_read_and_a_wrong_one_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(NAME);
        assert_eq!(Config::read(&path).unwrap(), Config::default());
        std::fs::write(&path, r#"{"commands":{"pass_env":["GH_TOKEN"],"memory_mib":64}}"#).unwrap();
        let config = Config::read(&path).unwrap().commands;
        assert_eq!(config.pass_env, ["GH_TOKEN"]);
        assert_eq!(config.limits(), ResourceLimits::default().memory(64 << 20));
        std::fs::write(&path, r#"{"commands":{"memory":64}}"#).unwrap();
        let wrong = Config::read(&path).unwrap_err().to_string();
        assert!(wrong.contains("config.json") && wrong.contains("`memory`"), "{wrong}");
    }
}
