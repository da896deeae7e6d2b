//! What there is in a folder, as the tool says it and as it is said.

use serde_json::Value;

use crate::message::ToolResult;

/// What there is in a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Figures {
    files: u64,
    folders: u64,
    bytes: u64,
    lines: u64,
    /// What could not be read, and so is not in the others.
    unread: u64,
}

impl Figures {
    pub(super) fn told(self) -> String {
        let Self { files, folders, bytes, lines, unread } = self;
        let told = format!("{files} files, {folders} folders, {bytes} bytes, {lines} lines");
        match unread {
            0 => told,
            unread => format!("{told}, {unread} unread"),
        }
    }

    pub(super) fn read(told: &str) -> Option<Self> {
        let mut parts = told.split(", ");
        let mut number = |what: &str| -> Option<u64> {
            parts.next()?.trim().strip_suffix(what)?.trim().parse().ok()
        };
        let (files, folders) = (number("files")?, number("folders")?);
        let (bytes, lines) = (number("bytes")?, number("lines")?);
        Some(Self { files, folders, bytes, lines, unread: number("unread").unwrap_or(0) })
    }

    pub(super) fn add(&mut self, more: Self) {
        self.files += more.files;
        self.folders += more.folders;
        self.bytes += more.bytes;
        self.lines += more.lines;
        self.unread += more.unread;
    }
}

/// What a survey says of one folder and those in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Survey {
    /// The folders in it, as the tool names them.
    pub(super) folders: Vec<String>,
    /// How many more there are that it does not name.
    pub(super) unnamed: u64,
    /// What there is.
    pub(super) figures: Figures,
}

impl Survey {
    pub(super) fn read(result: &ToolResult) -> Result<Self, String> {
        if result.failed {
            return Err(result.text.clone());
        }
        let told: Value = serde_json::from_str(&result.text).map_err(|error| error.to_string())?;
        let number = |name: &str| told[name].as_u64().unwrap_or(0);
        let names = told["names"].as_array().into_iter().flatten();
        Ok(Self {
            folders: names.filter_map(|name| Some(name.as_str()?.to_owned())).collect(),
            unnamed: number("unnamed"),
            figures: Figures {
                files: number("files"),
                folders: number("folders"),
                bytes: number("bytes"),
                lines: number("lines"),
                unread: number("unread"),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_as_they_are_told() {
        let some = Figures { files: 1, folders: 2, bytes: 3, lines: 4, unread: 0 };
        for figures in [Figures::default(), some, Figures { unread: 5, ..some }] {
            assert_eq!(Figures::read(&figures.told()), Some(figures));
        }
        assert_eq!(Figures::read("many files"), None);
    }
}
