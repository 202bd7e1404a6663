//! Credentials and regions as the tools of AWS find them.

use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};

use crate::process::{Program, ProgramCredentials};
use crate::{Error, StoreOptions};

/// Where a virtual machine of AWS has its credentials (link-local, RFC 3927).
const INSTANCE: SocketAddr = SocketAddr::new(
    std::net::IpAddr::V4(std::net::Ipv4Addr::new(169, 254, 169, 254)),
    80,
);
/// Time for a connection to it, as in the tools of AWS: elsewhere nothing answers.
const INSTANCE_WAIT: Duration = Duration::from_secs(1);

/// Options that give credentials, or do without.
const CREDENTIAL_OPTIONS: [&str; 8] = [
    "aws_access_key_id",
    "access_key_id",
    "aws_skip_signature",
    "skip_signature",
    "aws_web_identity_token_file",
    "web_identity_token_file",
    "aws_container_credentials_relative_uri",
    "aws_container_credentials_full_uri",
];
/// Variables of this kind. They come before profiles.
const CREDENTIAL_VARIABLES: [&str; 5] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SKIP_SIGNATURE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
];

/// Looks up a variable of the environment.
type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Adds what the profile sets and neither the options nor the environment do.
pub(crate) fn with_profile(
    mut builder: AmazonS3Builder,
    options: &StoreOptions,
    variables: Variables<'_>,
) -> Result<AmazonS3Builder, Error> {
    let is_set = |names: &[&str], of_env: &[&str]| {
        options.has(names) || of_env.iter().any(|name| variables(name).is_some())
    };
    let has_credentials = is_set(&CREDENTIAL_OPTIONS, &CREDENTIAL_VARIABLES);
    let profile = Profile::find(variables)?;
    if !is_set(
        &[
            "aws_region",
            "region",
            "aws_default_region",
            "default_region",
        ],
        &["AWS_REGION", "AWS_DEFAULT_REGION"],
    ) && let Some(region) = profile.get("region")
    {
        builder = builder.with_region(region);
    }
    if !is_set(
        &[
            "aws_endpoint",
            "endpoint",
            "aws_endpoint_url",
            "endpoint_url",
        ],
        &["AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"],
    ) && let Some(endpoint) = profile.get("endpoint_url")
    {
        builder = builder.with_endpoint(endpoint);
    }
    if has_credentials {
        return Ok(builder);
    }
    match profile.credentials() {
        Credentials::Keys { id, secret, token } => {
            builder = builder
                .with_access_key_id(id)
                .with_secret_access_key(secret);
            if let Some(token) = token {
                builder = builder.with_token(token);
            }
        }
        Credentials::Program(program) => {
            let provider = Arc::new(ProgramCredentials::new(program));
            builder = builder.with_credentials(provider);
        }
        Credentials::None if has_instance(&builder, variables) => {}
        Credentials::None => return Err(Error::NoCredentials),
    }
    Ok(builder)
}

/// True if the machine may have a role of its own. Without this look, a user without credentials
/// would wait for all retries.
fn has_instance(builder: &AmazonS3Builder, variables: Variables<'_>) -> bool {
    let is_elsewhere = builder
        .get_config_value(&AmazonS3ConfigKey::MetadataEndpoint)
        .is_some();
    let is_off = variables("AWS_EC2_METADATA_DISABLED").is_some_and(|value| value == "true");
    is_elsewhere || !is_off && TcpStream::connect_timeout(&INSTANCE, INSTANCE_WAIT).is_ok()
}

/// A profile of the configuration of AWS.
#[derive(Debug, Default)]
struct Profile {
    name: String,
    values: BTreeMap<String, String>,
}

/// How a profile gives credentials.
#[derive(Debug)]
enum Credentials {
    None,
    Keys {
        id: String,
        secret: String,
        token: Option<String>,
    },
    Program(Program),
}

impl Profile {
    /// The profile of `AWS_PROFILE`, which must exist, or the default one.
    fn find(variables: Variables<'_>) -> Result<Self, Error> {
        let named = variables("AWS_PROFILE").or_else(|| variables("AWS_DEFAULT_PROFILE"));
        let name = named.clone().unwrap_or_else(|| "default".to_owned());
        let text = |variable: &str, file: &str| {
            let path = match variables(variable) {
                Some(path) => PathBuf::from(path),
                None => PathBuf::from(variables("HOME")?).join(".aws").join(file),
            };
            fs::read_to_string(path).ok()
        };
        let config = text("AWS_CONFIG_FILE", "config").unwrap_or_default();
        let shared = text("AWS_SHARED_CREDENTIALS_FILE", "credentials").unwrap_or_default();
        let of_config = match name.as_str() {
            "default" => {
                section(&config, "default").or_else(|| section(&config, "profile default"))
            }
            name => section(&config, &format!("profile {name}")),
        };
        let of_shared = section(&shared, &name);
        if named.is_some() && of_config.is_none() && of_shared.is_none() {
            return Err(Error::NoProfile { name });
        }
        let mut values = of_config.unwrap_or_default();
        // The credentials file comes first for what both have.
        values.extend(of_shared.unwrap_or_default());
        Ok(Self { name, values })
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    fn credentials(&self) -> Credentials {
        /// Settings for which the tools of AWS sign in, or take another role.
        const OF_TOOLS: [&str; 5] = [
            "sso_session",
            "sso_start_url",
            "role_arn",
            "web_identity_token_file",
            "login_session",
        ];
        let uses_tools = OF_TOOLS.iter().any(|name| self.get(name).is_some());
        if let Some((id, secret)) = self
            .get("aws_access_key_id")
            .zip(self.get("aws_secret_access_key"))
            // Keys beside a role are those that take the role.
            && self.get("role_arn").is_none()
        {
            return Credentials::Keys {
                id: id.to_owned(),
                secret: secret.to_owned(),
                token: self.get("aws_session_token").map(str::to_owned),
            };
        }
        match self.get("credential_process") {
            _ if uses_tools => Credentials::Program(Program::AwsTool {
                profile: self.name.clone(),
            }),
            Some(command) => Credentials::Program(Program::Command(command.to_owned())),
            None => Credentials::None,
        }
    }
}

/// The settings of a section of a configuration file; `None` if there is no such section.
fn section(text: &str, name: &str) -> Option<BTreeMap<String, String>> {
    let mut found: Option<BTreeMap<String, String>> = None;
    let mut is_inside = false;
    for line in text.lines() {
        // Indented lines are settings below a setting.
        if line.starts_with([' ', '\t', '#', ';']) {
            continue;
        }
        let line = line.trim();
        if let Some(title) = line.strip_prefix('[') {
            let title = title.split(']').next().unwrap_or_default();
            let words: Vec<&str> = title
                .split_whitespace()
                .map(|word| word.trim_matches('"'))
                .collect();
            is_inside = words.join(" ") == name;
            if is_inside {
                found.get_or_insert_default();
            }
        } else if is_inside
            && let Some((name, value)) = line.split_once('=')
            && let Some(found) = &mut found
        {
            found.insert(name.trim().to_lowercase(), value.trim().to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "\
[default]
region = eu-west-1
s3 =
    addressing_style = path
# a comment
[profile lab]
region=us-west-2
endpoint_url = http://127.0.0.1:9000
credential_process = /opt/keys --of lab
[profile \"team\"]
sso_session = team
region = eu-central-1
[profile reader]
role_arn = arn:aws:iam::1:role/reader
source_profile = default
";
    const SHARED: &str = "[default]\naws_access_key_id = ID\naws_secret_access_key = SECRET\n";

    struct Files(tempfile::TempDir);

    impl Files {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join(".aws")).unwrap();
            fs::write(folder.path().join(".aws/config"), CONFIG).unwrap();
            fs::write(folder.path().join(".aws/credentials"), SHARED).unwrap();
            Self(folder)
        }

        fn profile(&self, name: Option<&str>) -> Result<Profile, Error> {
            Profile::find(&|variable| match variable {
                "HOME" => Some(self.0.path().display().to_string()),
                "AWS_PROFILE" => name.map(str::to_owned),
                _ => None,
            })
        }
    }

    #[test]
    fn the_default_profile_joins_both_files() {
        let profile = Files::new().profile(None).unwrap();
        assert_eq!(profile.get("region"), Some("eu-west-1"));
        assert_eq!(profile.get("addressing_style"), None);
        let Credentials::Keys { id, secret, token } = profile.credentials() else {
            panic!("{profile:?}");
        };
        assert_eq!(
            (id.as_str(), secret.as_str(), token),
            ("ID", "SECRET", None)
        );
    }

    #[test]
    fn a_profile_may_name_a_program_for_its_credentials() {
        let profile = Files::new().profile(Some("lab")).unwrap();
        assert_eq!(profile.get("endpoint_url"), Some("http://127.0.0.1:9000"));
        let Credentials::Program(Program::Command(command)) = profile.credentials() else {
            panic!("{profile:?}");
        };
        assert_eq!(command, "/opt/keys --of lab");
    }

    #[test]
    fn the_tools_of_aws_sign_in_for_single_sign_on_and_roles() {
        for name in ["team", "reader"] {
            let profile = Files::new().profile(Some(name)).unwrap();
            let credentials = profile.credentials();
            assert!(
                matches!(&credentials, Credentials::Program(Program::AwsTool { profile }) if profile == name),
                "{credentials:?}"
            );
        }
    }

    #[test]
    fn a_named_profile_that_does_not_exist_is_an_error() {
        let error = Files::new().profile(Some("tema")).unwrap_err();
        assert_eq!(
            error,
            Error::NoProfile {
                name: "tema".to_owned()
            }
        );
    }

    #[test]
    fn missing_credentials_are_reported() {
        let nothing = |variable: &str| match variable {
            "AWS_EC2_METADATA_DISABLED" => Some("true".to_owned()),
            _ => None,
        };
        let error = with_profile(AmazonS3Builder::new(), &StoreOptions::default(), &nothing);
        assert_eq!(error.err(), Some(Error::NoCredentials));
        let options = ["skip_signature=true".parse().unwrap()]
            .into_iter()
            .collect();
        assert!(with_profile(AmazonS3Builder::new(), &options, &nothing).is_ok());
    }
}
