//! Files of a user that are keys, or give access as keys do.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// The files in a home that no agent may read.
const IN_HOME: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".oci",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".vault-token",
    ".password-store",
    ".authinfo",
    ".authinfo.gpg",
    ".smbcredentials",
    ".Xauthority",
    ".s3cfg",
    ".boto",
    ".databrickscfg",
    ".kaggle/kaggle.json",
    ".huggingface/token",
    ".cache/huggingface/token",
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".gem/credentials",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".config/pypoetry/auth.toml",
    ".terraformrc",
    ".terraform.d/credentials.tfrc.json",
    ".claude.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini",
    ".qwen/oauth_creds.json",
    ".factory/auth.json",
    ".local/share/opencode/auth.json",
    ".config/goose/secrets.yaml",
    ".config/gcloud",
    ".config/gh",
    ".config/github-copilot",
    ".config/glab-cli",
    ".config/hub",
    ".config/rclone",
    ".config/op",
    ".config/1Password",
    ".config/Bitwarden",
    ".config/doctl",
    ".config/stripe",
    ".config/sops/age",
    ".config/age",
    ".config/containers/auth.json",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".local/share/keyrings",
];

/// The directories of the home that a variable can move.
const DIRECTORIES: &[(&str, &str)] = &[
    ("XDG_CONFIG_HOME", ".config/"),
    ("XDG_DATA_HOME", ".local/share/"),
    ("XDG_CACHE_HOME", ".cache/"),
    ("AZURE_CONFIG_DIR", ".azure"),
    ("CARGO_HOME", ".cargo/"),
    ("CLAUDE_CONFIG_DIR", ".claude/"),
    ("CLOUDSDK_CONFIG", ".config/gcloud"),
    ("CODEX_HOME", ".codex/"),
    ("COMPOSER_HOME", ".composer/"),
    ("DOCKER_CONFIG", ".docker"),
    ("GH_CONFIG_DIR", ".config/gh"),
    ("GNUPGHOME", ".gnupg"),
    ("GRADLE_USER_HOME", ".gradle/"),
    ("HF_HOME", ".cache/huggingface/"),
    ("PASSWORD_STORE_DIR", ".password-store"),
];

/// The variables that name such files, several with `:` between them, or one after its kind
/// and a `:`, as in Kerberos.
const FILES: &[&str] = &[
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "BOTO_CONFIG",
    "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "HF_TOKEN_PATH",
    "KRB5CCNAME",
    "KRB5_KTNAME",
    "KUBECONFIG",
    "NETRC",
    "NPM_CONFIG_USERCONFIG",
    "PGPASSFILE",
    "RCLONE_CONFIG",
    "SOPS_AGE_KEY_FILE",
    "TF_CLI_CONFIG_FILE",
    "XAUTHORITY",
    "npm_config_userconfig",
];

/// The home of the user who runs this process.
fn home() -> Option<PathBuf> {
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    home.and_then(|home| std::fs::canonicalize(home).ok())
}

/// The secrets in the home.
pub(crate) fn in_home() -> impl Iterator<Item = PathBuf> {
    home().into_iter().flat_map(|home| IN_HOME.iter().map(move |secret| home.join(secret)))
}

/// The secrets that these variables move, each with its variable.
pub(crate) fn moved(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, PathBuf)> {
    let mut moved = Vec::new();
    for (name, value) in variables {
        if let Some((_, place)) = DIRECTORIES.iter().find(|(variable, _)| name == *variable) {
            let below = IN_HOME.iter().filter_map(|secret| secret.strip_prefix(place));
            let at = |below: &str| match below {
                "" => PathBuf::from(&value),
                below => Path::new(&value).join(below),
            };
            moved.extend(below.map(|below| (name.clone(), at(below))));
        }
        if FILES.iter().any(|variable| name == *variable) {
            moved.extend(std::env::split_paths(&value).map(|file| (name.clone(), file)));
        }
    }
    let home = home();
    // If the home or a directory above it were hidden, no program could run.
    let is_above = |path: &Path| home.as_ref().is_some_and(|home| home.starts_with(path));
    moved.retain(|(_, path)| path.is_absolute());
    for (_, path) in &mut moved {
        if let Ok(real) = std::fs::canonicalize(&path) {
            *path = real;
        }
    }
    moved.retain(|(_, path)| path.parent().is_some() && !is_above(path) && is_plain(path));
    moved
}

/// Whether a confinement can hide a path.
fn is_plain(path: &Path) -> bool {
    let is_upwards = path.components().any(|part| part == Component::ParentDir);
    path.to_str().is_some_and(|text| !text.contains('\0')) && !is_upwards
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_page_on_tools_says_is_hidden_is() {
        let page = include_str!("../../../../docs/tools.md");
        let hidden = page.split("### ").find(|part| part.starts_with("What is hidden")).unwrap();
        let words = || hidden.split('`').skip(1).step_by(2);
        let named: Vec<_> = words().filter(|word| word.starts_with('.')).collect();
        for word in &named {
            assert!(IN_HOME.iter().any(|secret| secret.starts_with(word)), "{word}");
        }
        let unnamed: Vec<_> = IN_HOME
            .iter()
            .filter(|secret| !named.iter().any(|word| secret.starts_with(word)))
            .collect();
        assert!(unnamed.is_empty(), "hidden and not on the page: {unnamed:?}");
        let variables = DIRECTORIES.iter().map(|(name, _)| name).chain(FILES);
        let unnamed: Vec<_> =
            variables.filter(|name| !words().any(|word| word == name.to_uppercase())).collect();
        assert!(unnamed.is_empty(), "known and not on the page: {unnamed:?}");
    }

    #[test]
    fn each_directory_that_can_be_elsewhere_has_a_secret() {
        for (name, place) in DIRECTORIES {
            assert!(IN_HOME.iter().any(|secret| secret.starts_with(place)), "{name}");
        }
    }

    #[test]
    fn secrets_are_found_where_a_variable_puts_them() {
        let variables = [
            ("NETRC", "/alt/netrc"),
            ("KUBECONFIG", "/alt/one:/alt/two:relative"),
            ("KRB5CCNAME", "FILE:/alt/tickets"),
            ("DOCKER_CONFIG", "/alt/docker"),
            ("CODEX_HOME", "/alt/codex"),
            ("GNUPGHOME", "/"),
            ("PGPASSFILE", "/alt/../none/pgpass"),
            ("CARGO_HOME", "relative"),
            ("HOME", "/home/me"),
        ];
        let moved = moved(variables.map(|(name, value)| (name.into(), value.into())));
        let paths: Vec<_> = moved.iter().map(|(_, path)| path.to_str().unwrap()).collect();
        let found = ["/alt/netrc", "/alt/one", "/alt/two", "/alt/tickets", "/alt/docker"];
        assert_eq!(paths, [&found[..], &["/alt/codex/auth.json"]].concat());
    }
}
