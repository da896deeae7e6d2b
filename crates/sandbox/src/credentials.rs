//! The check whether an environment variable holds a credential, by its name and value.

use std::ffi::OsStr;

/// A name that contains one of these holds a credential.
const CONTAINED: [&str; 13] = [
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "APIKEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "DATABASE_URL",
    "DATABASE_URI",
    "WEBHOOK",
    "SERVICE_ACCOUNT_JSON",
    "GCP_SA",
];

/// So does a name that ends with one of these.
const ENDINGS: [&str; 15] = [
    "TOKEN", "TOKENS", "KEY", "_KEYS", "_PAT", "PASS", "PWD", "PW", "_AUTH", "_CREDS", "_DSN",
    "_JWT", "_SAS", "HOOK_URL", "HOOK_URI",
];

/// And a name that has one of these as a word of its own, as in `GITHUB_TOKEN_RO`.
const WORDS: &str = "
    TOKEN TOKENS KEY KEYS JWT COOKIE COOKIES CREDS BEARER AUTHORIZATION
";

/// An address of a database holds its password: so does a name that ends in `URL` or
/// `URI` and has a word that contains one of these or ends in `DB`.
const DATABASES: [&str; 7] = ["SQL", "MONGO", "REDIS", "POSTGRES", "JDBC", "AMQP", "RABBITMQ"];

/// And a name that begins with one of these: sessions of password managers, and the
/// credentials of Bundler by host.
const BEGINNINGS: [&str; 3] = ["OP_SESSION", "BW_SESSION", "BUNDLE_RUBYGEMS__"];

/// Names that match no rule. Some lead to an agent that signs, or to a file of tickets.
const KNOWN: &str = "
    PAT SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO KRB5CCNAME DOCKER_AUTH_CONFIG
    NPM_CONFIG__AUTH FASTLANE_SESSION BROKER_URL CELERY_BROKER_URL ELASTICSEARCH_URL SMTP_URL
    CLOUDINARY_URL
";

/// Names that match a rule and hold no credential.
const HARMLESS: &str = "PWD OLDPWD LESSKEY SSH_ASKPASS GIT_ASKPASS SUDO_ASKPASS";

/// Endings of English words that end like a credential.
const OTHER_WORDS: [&str; 4] = ["BYPASS", "COMPASS", "MONKEY", "HOTKEY"];

/// Prefixes of the numbered variables with settings of git. Their values are checked
/// instead of their names.
const GIT_SETTINGS: [&str; 2] = ["GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"];

/// Whether a variable of this name counts as a credential.
///
/// A confined program does not get such a variable. Case is ignored.
///
/// ```
/// use offshoot_sandbox::is_credential;
///
/// assert!(is_credential("GH_TOKEN") && is_credential("pgpassword"));
/// assert!(!is_credential("PATH") && !is_credential("KEYBOARD"));
/// ```
pub fn is_credential(name: impl AsRef<OsStr>) -> bool {
    // Invalid bytes match no rule, but the rest of the name can.
    let name = name.as_ref().to_string_lossy().to_uppercase();
    let listed = |list: &str| list.split_ascii_whitespace().any(|listed| listed == name);
    if listed(HARMLESS)
        || OTHER_WORDS.iter().any(|end| name.ends_with(end))
        || GIT_SETTINGS.iter().any(|begin| name.starts_with(begin))
    {
        return false;
    }
    let word = |word: &str| WORDS.split_ascii_whitespace().any(|listed| listed == word);
    CONTAINED.iter().any(|part| name.contains(part))
        || ENDINGS.iter().any(|end| name.ends_with(end))
        || BEGINNINGS.iter().any(|begin| name.starts_with(begin))
        || words(&name).any(word)
        || is_connection(&name)
        || listed(KNOWN)
}

/// Whether a name is that of a database address.
fn is_connection(name: &str) -> bool {
    let of_database =
        |word: &str| word.ends_with("DB") || DATABASES.iter().any(|part| word.contains(part));
    let is_address = name.ends_with("URL") || name.ends_with("URI");
    let is_string = name.split_once("CONNECTION").is_some_and(|(_, rest)| rest.contains("STRING"));
    is_string || (is_address && words(name).any(of_database))
}

/// Returns the words of a name.
fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|letter: char| !letter.is_alphanumeric())
}

/// Whether a value contains an address with a password, as in
/// `https://user:password@host`.
///
/// ```
/// use offshoot_sandbox::holds_password;
///
/// assert!(holds_password("http://me:hush@proxy:8080"));
/// assert!(!holds_password("http://proxy:8080") && !holds_password("ssh://git@host:22/x"));
/// ```
pub fn holds_password(value: impl AsRef<OsStr>) -> bool {
    let value = value.as_ref().to_string_lossy();
    value.match_indices("://").any(|(at, mark)| {
        let rest = &value[at + mark.len()..];
        let rest = rest.split(char::is_whitespace).next().unwrap_or_default();
        is_with_password(rest)
    })
}

/// Whether the text after `://` begins with a user and a password.
fn is_with_password(rest: &str) -> bool {
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if let Some((user, _)) = host.rsplit_once('@') {
        return user.contains(':');
    }
    // A password may contain this character. A port cannot.
    let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let behind = host.split_once(':').map(|(_, behind)| behind);
    rest.contains('@') && !host.starts_with('[') && behind.is_some_and(|behind| !is_port(behind))
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
             ANTHROPIC_AUTH_TOKEN CLAUDE_CODE_OAUTH_TOKEN MY_PRIVATE_KEY_PEM TOKEN KEY PASS PAT \
             PASSWORD SSHPASS REDIS_URL MONGO_URL MONGODB_URI MONGODB_URL POSTGRES_URL \
             POSTGRESQL_URL MYSQL_URL AMQP_URL RABBITMQ_URL CLOUDAMQP_URL DISCORD_WEBHOOK_URL \
             CI_JOB_JWT_V1 CI_JOB_JWT_V2 SESSION_COOKIE";
        for name in names.split_ascii_whitespace() {
            assert!(is_credential(name), "{name}");
            assert!(is_credential(name.to_lowercase()), "{name}, in lower case");
        }
        assert!(is_credential(OsStr::from_bytes(b"\xff_TOKEN")));
    }

    #[test]
    fn names_of_connections_and_names_with_a_credential_in_the_middle_are_known() {
        let names = "DB_URL DB_URI DATABASE_URI SQLALCHEMY_DATABASE_URI JDBC_URL MONGO_URI \
             REDIS_URI POSTGRES_URI CLEARDB_URL JAWSDB_URL MONGOLAB_URI REDISCLOUD_URL \
             REDISTOGO_URL HEROKU_POSTGRESQL_PINK_URL AZURE_STORAGE_CONNECTIONSTRING \
             APPLICATIONINSIGHTS_CONNECTIONSTRING ConnectionStrings__Default CONNECTIONSTRING JWT \
             BEARER AUTHORIZATION COOKIE CREDS DBPASS FTPPASS SMTPPASS MYSQLPW ROOTPW DB_PW \
             LDAP_BIND_PW TF_VAR_db_pw OPENAIKEY HMACKEY ENCRYPTIONKEY LICENSEKEY GCP_SA \
             GCP_SA_JSON SERVICE_ACCOUNT_JSON USERPWD CURL_USERPWD SLACK_HOOK_URL WEBHOOK_URL \
             TEAMS_WEBHOOK_URI GITHUB_TOKEN_RO TOKEN_GITHUB TOKEN_V2 GITLAB_TOKEN_2 \
             DEPLOY_KEY_BASE64 TLS_KEY_FILE ACCESS_JWT_TOKEN_V2 AZURE_STORAGE_SAS";
        for name in names.split_ascii_whitespace() {
            assert!(is_credential(name), "{name}");
        }
    }

    #[test]
    fn an_address_with_a_password_is_known_by_its_value() {
        for value in [
            "http://me:hush@proxy:8080",
            "HTTPS://me:hush@proxy",
            "https://:hush@host/simple",
            "https://token:@host/simple",
            "https://oauth2:glpat-x@gitlab.com/group/project.git",
            "https://proxy.golang.org,https://me:hush@go.example.com,direct",
            "http://plain/simple https://me:hush@host/simple",
            "redis://:hush@host:6379/0",
            "postgres://me:hu@sh@host/db",
            "postgres://me:hu/sh@host/db",
            "jdbc:mysql://me:hush@host/db",
            "--index https://me:hush@host",
        ] {
            assert!(holds_password(value), "{value}");
        }
        for value in [
            "",
            "hush",
            "http://proxy:8080",
            "http://me@proxy:8080",
            "https://proxy.golang.org,direct",
            "ssh://git@github.com:22/x/y.git",
            "git@github.com:x/y.git",
            "https://registry.npmjs.org/@scope/name",
            "http://localhost:8080/@scope/name",
            "http://[::1]:8080/@scope",
            "unix:///run/user:1@x",
            "mongodb://one:27017,two:27017/db",
            "https://host/a:b@c",
        ] {
            assert!(!holds_password(value), "{value}");
        }
    }

    #[test]
    fn other_names_are_left() {
        let names = "PATH HOME PWD OLDPWD USER LANG LC_ALL TERM SHELL EDITOR TMPDIR CARGO_HOME \
             RUSTFLAGS GOPATH JAVA_HOME NODE_ENV VIRTUAL_ENV KUBECONFIG DOCKER_HOST AWS_PROFILE \
             AWS_REGION HTTP_PROXY NO_PROXY XAUTHORITY LESSKEY KEYBOARD PASSENGER_ENV TOKENIZERS_PARALLELISM \
             GIT_CONFIG_KEY_0 XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS COLORTERM API_URL PYTHONPATH \
             HTTPS_PROXY ALL_PROXY GOPROXY PIP_INDEX_URL UV_INDEX_URL CARGO_REGISTRIES_X_INDEX \
             MAVEN_OPTS NODE_OPTIONS GIT_CONFIG_GLOBAL FEEDBACK_URL LESSKEY INIT_CWD DOCKER_CONFIG \
             GNUPGHOME DB_HOST PGHOST MONKEY NO_BYPASS SSL_CERT_FILE GIT_CONFIG_VALUE_1 SSH_ASKPASS";
        for name in names.split_ascii_whitespace() {
            assert!(!is_credential(name), "{name}");
        }
    }
}
