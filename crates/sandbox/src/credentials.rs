//! Which environment variables hold a credential, judged by their names.

use std::ffi::OsStr;

/// A name that contains one of these holds a credential.
const CONTAINED: [&str; 10] = [
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "APIKEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "DATABASE_URL",
    "CONNECTION_STRING",
];

/// So does a name that ends with one of these.
const ENDINGS: [&str; 14] = [
    "TOKEN", "TOKENS", "_KEY", "_KEYS", "_PAT", "_PASS", "_PWD", "_AUTH", "_CREDS", "_DSN", "_JWT",
    "_COOKIE", "_COOKIES", "_WEBHOOK",
];

/// And a name that begins with one of these: sessions of password managers, and
/// what Bundler keeps by host.
const BEGINNINGS: [&str; 3] = ["OP_SESSION", "BW_SESSION", "BUNDLE_RUBYGEMS__"];

/// Names that follow no rule. Some lead to an agent that signs, or to a file of
/// tickets.
const KNOWN: &str = "
    TOKEN KEY PASSWORD PASS PAT MYSQL_PWD SSHPASS SSH_AUTH_SOCK SSH_AGENT_PID
    GPG_AGENT_INFO KRB5CCNAME DOCKER_AUTH_CONFIG NPM_CONFIG__AUTH FASTLANE_SESSION
    REDIS_URL MONGO_URL MONGODB_URI MONGODB_URL POSTGRES_URL POSTGRESQL_URL MYSQL_URL AMQP_URL
    RABBITMQ_URL CLOUDAMQP_URL BROKER_URL CELERY_BROKER_URL ELASTICSEARCH_URL SMTP_URL
    CLOUDINARY_URL SLACK_WEBHOOK_URL DISCORD_WEBHOOK_URL CI_JOB_JWT_V1 CI_JOB_JWT_V2
";

/// Names that follow a rule and hold no credential.
const HARMLESS: &str = "PWD OLDPWD";

/// Whether a variable of this name is taken for a credential, so that a confined
/// program does not get it. Upper and lower case are the same.
///
/// ```
/// use offshoot_sandbox::is_credential;
///
/// assert!(is_credential("GH_TOKEN") && is_credential("pgpassword"));
/// assert!(!is_credential("PATH") && !is_credential("KEYBOARD"));
/// ```
pub fn is_credential(name: impl AsRef<OsStr>) -> bool {
    // A byte that is no text cannot be part of a rule, and the rest still can.
    let name = name.as_ref().to_string_lossy().to_uppercase();
    let listed = |list: &str| list.split_ascii_whitespace().any(|listed| listed == name);
    let matches = CONTAINED.iter().any(|part| name.contains(part))
        || ENDINGS.iter().any(|end| name.ends_with(end))
        || BEGINNINGS.iter().any(|begin| name.starts_with(begin))
        || listed(KNOWN);
    matches && !listed(HARMLESS)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn names_of_credentials_are_known_in_any_case() {
        let names = "GH_TOKEN GITHUB_TOKEN GITHUB_PAT GITLAB_TOKEN NPM_TOKEN CARGO_REGISTRY_TOKEN \
             AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AZURE_CLIENT_SECRET \
             GOOGLE_APPLICATION_CREDENTIALS DATABASE_URL TEST_DATABASE_URL PGPASSWORD MYSQL_PWD \
             DB_PASS STRIPE_API_KEY SECRET_KEY_BASE DJANGO_SECRET_KEY SENTRY_DSN SSH_AUTH_SOCK \
             VAULT_TOKEN OP_SESSION_abc npm_config__auth NPM_CONFIG_//registry/:_authToken \
             KRB5CCNAME SLACK_WEBHOOK_URL HEROKU_API_KEY CI_JOB_JWT TWINE_PASSWORD SIGNING_KEY \
             ANTHROPIC_AUTH_TOKEN CLAUDE_CODE_OAUTH_TOKEN MY_PRIVATE_KEY_PEM TOKEN";
        for name in names.split_ascii_whitespace() {
            assert!(is_credential(name), "{name}");
            assert!(is_credential(name.to_lowercase()), "{name}, in lower case");
        }
        assert!(is_credential(OsStr::from_bytes(b"\xff_TOKEN")));
    }

    #[test]
    fn other_names_are_left() {
        let names = "PATH HOME PWD OLDPWD USER LANG LC_ALL TERM SHELL EDITOR TMPDIR CARGO_HOME \
             RUSTFLAGS GOPATH JAVA_HOME NODE_ENV VIRTUAL_ENV KUBECONFIG DOCKER_HOST AWS_PROFILE \
             AWS_REGION HTTP_PROXY NO_PROXY XAUTHORITY LESSKEY KEYBOARD PASSENGER_ENV TOKENIZERS_PARALLELISM \
             GIT_CONFIG_KEY_0 XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS COLORTERM API_URL PYTHONPATH";
        for name in names.split_ascii_whitespace() {
            assert!(!is_credential(name), "{name}");
        }
    }
}
