//! URLs to clients of stores.

use std::env;
use std::sync::{Arc, Once};
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};
use url::Url;

use crate::{Error, StoreOptions, aws, shown_url};

/// Shortest and longest pause before a request is repeated. `object_store` chooses the pause at
/// random, up to twice the one before.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];
/// Retries of a request: their time ends them first, even if all pauses are the shortest.
const RETRIES: usize = 1_000;
/// Options of requests, unless the environment or the user sets others. The time of an answer is
/// limited to a day, as links may be slow, and a pause within it to half a minute.
const REQUESTS: [(&str, &str); 2] = [("timeout", "1d"), ("read_timeout", "30s")];

/// A store and the place of an object in it.
pub(crate) struct Connected {
    /// The URL as [`shown_url`] has it.
    pub(crate) name: String,
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) path: Path,
    /// Time for which a request that fails is repeated.
    pub(crate) retry_time: Duration,
}

impl Connected {
    /// Prepares a client for the object at `url`. Sends no request.
    pub(crate) fn to(url: &str, options: &StoreOptions) -> Result<Self, Error> {
        // Without a key the URL is at fault, whatever settings the store lacks.
        let place = url.split_once("://").map_or("", |(_, place)| place);
        let key = place.split_once('/').map_or("", |(_, key)| key);
        if key.trim_matches('/').is_empty() {
            return Err(expected(form(url)));
        }
        let connected = Self::to_any(url, options)?;
        if connected.path.as_ref().is_empty() {
            return Err(expected(form(url)));
        }
        Ok(connected)
    }

    /// Prepares a client for the objects below `url`, with or without a slash at its end.
    pub(crate) fn to_folder(url: &str, options: &StoreOptions) -> Result<Self, Error> {
        Self::to_any(url.strip_suffix('/').unwrap_or(url), options)
    }

    fn to_any(url: &str, options: &StoreOptions) -> Result<Self, Error> {
        choose_tls();
        match url.split_once("://") {
            Some((scheme @ ("http" | "https"), _)) => to_server(url, scheme == "http", options),
            Some((scheme, place)) => to_bucket(url, scheme, place, options),
            None => Err(expected(form(url))),
        }
    }
}

/// The form of a URL with the scheme of `url`.
fn form(url: &str) -> &'static str {
    match url.split_once("://").map_or("", |(scheme, _)| scheme) {
        "http" | "https" => "https://HOST/PATH",
        "gs" => "gs://BUCKET/KEY",
        "az" => "az://CONTAINER/BLOB",
        _ => "s3://BUCKET/KEY",
    }
}

fn to_bucket(
    url: &str,
    scheme: &str,
    place: &str,
    options: &StoreOptions,
) -> Result<Connected, Error> {
    // Tools of the providers take the key as it is written: `%20` is no space in it.
    let (bucket, key) = place.split_once('/').unwrap_or((place, ""));
    if bucket.is_empty() {
        return Err(expected(form(url)));
    }
    let path = unchanged(key, Path::parse(key))?;
    let store = match scheme {
        "gs" => google(bucket, options),
        "az" => azure(bucket, options),
        _ => amazon(bucket, options),
    }?;
    Ok(Connected {
        name: url.to_owned(),
        store,
        path,
        retry_time: options.retry_time(),
    })
}

fn amazon(bucket: &str, options: &StoreOptions) -> Result<Arc<dyn ObjectStore>, Error> {
    let builder = AmazonS3Builder::from_env()
        .with_bucket_name(bucket)
        .with_retry(retries(options));
    let builder =
        settings("AWS", options).fold(builder, |builder, (name, value)| match name.parse() {
            Ok(key) => builder.with_config(key, value),
            Err(_) => builder,
        });
    let builder = aws::with_profile(builder, options, &|name| env::var(name).ok())?;
    Ok(Arc::new(
        builder.build().map_err(|error| Error::of(&error))?,
    ))
}

fn google(bucket: &str, options: &StoreOptions) -> Result<Arc<dyn ObjectStore>, Error> {
    let builder = GoogleCloudStorageBuilder::from_env()
        .with_bucket_name(bucket)
        .with_retry(retries(options));
    let builder =
        settings("GOOGLE", options).fold(builder, |builder, (name, value)| match name.parse() {
            Ok(key) => builder.with_config(key, value),
            Err(_) => builder,
        });
    Ok(Arc::new(
        builder.build().map_err(|error| Error::of(&error))?,
    ))
}

fn azure(container: &str, options: &StoreOptions) -> Result<Arc<dyn ObjectStore>, Error> {
    let builder = MicrosoftAzureBuilder::from_env()
        .with_container_name(container)
        .with_retry(retries(options));
    let builder =
        settings("AZURE", options).fold(builder, |builder, (name, value)| match name.parse() {
            Ok(key) => builder.with_config(key, value),
            Err(_) => builder,
        });
    Ok(Arc::new(
        builder.build().map_err(|error| Error::of(&error))?,
    ))
}

/// The options to set in addition to those of the environment, whose names begin with `prefix`. The
/// builder of a store does not accept the options of other stores.
fn settings<'a>(
    prefix: &'a str,
    options: &'a StoreOptions,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let is_free =
        move |name: &str| env::var_os(format!("{prefix}_{}", name.to_uppercase())).is_none();
    let defaults = REQUESTS.into_iter().filter(move |(name, _)| is_free(name));
    defaults.chain(options.iter())
}

fn to_server(url: &str, is_plain: bool, options: &StoreOptions) -> Result<Connected, Error> {
    let mut server = Url::parse(url).map_err(|_| expected(form(url)))?;
    let key = server.path();
    let key = key.strip_prefix('/').unwrap_or(key);
    let path = unchanged(key, Path::from_url_path(key))?;
    let name = shown_url(server.as_str().as_ref()).into_owned();
    // The query may be a signature, which each request needs.
    server.set_path("");
    let client = ClientOptions::new().with_allow_http(is_plain);
    let client =
        settings("HTTP", options).fold(client, |client, (name, value)| match name.parse() {
            Ok(key) => client.with_config(key, value),
            Err(_) => client,
        });
    let builder = HttpBuilder::new()
        .with_url(server)
        .with_retry(retries(options))
        .with_client_options(client);
    Ok(Connected {
        name,
        store: Arc::new(builder.build().map_err(|error| Error::of(&error))?),
        path,
        retry_time: options.retry_time(),
    })
}

/// The path of a key, if the client requests this key and no other. It drops a slash at either end, and
/// takes an escaped one for one between two parts.
fn unchanged(key: &str, path: Result<Path, object_store::path::Error>) -> Result<Path, Error> {
    let slashes = |text: &str| text.matches('/').count();
    path.ok()
        .filter(|path| slashes(path.as_ref()) == slashes(key))
        .ok_or_else(|| Error::Key {
            key: key.to_owned(),
        })
}

fn expected(form: &'static str) -> Error {
    Error::Url { expected: form }
}

fn retries(options: &StoreOptions) -> RetryConfig {
    let [init_backoff, max_backoff] = PAUSES;
    RetryConfig {
        max_retries: RETRIES,
        retry_timeout: options.retry_time(),
        backoff: BackoffConfig {
            init_backoff,
            max_backoff,
            base: 2.0,
        },
    }
}

/// Makes `ring` the cryptography of TLS. The other choice, aws-lc, needs cmake to be built.
fn choose_tls() {
    static CHOSEN: Once = Once::new();
    CHOSEN.call_once(|| {
        // A program that has chosen already keeps its choice.
        drop(rustls::crypto::ring::default_provider().install_default());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_without_an_object_is_an_error() {
        for url in [
            "s3://",
            "s3://b",
            "s3://b/",
            "s3:///k",
            "gs://b",
            "az://c",
            "http://h",
            "https://h/",
        ] {
            let error = Connected::to(url, &StoreOptions::default()).err();
            assert!(matches!(error, Some(Error::Url { .. })), "{url}: {error:?}");
        }
    }

    #[test]
    fn a_key_that_the_client_would_change_is_an_error() {
        let connected = |url| Connected::to(url, &options()).map(|to| to.path.to_string());
        for url in [
            "s3://lab/a//b.pcap",
            "s3://lab//reno/src.pcap",
            "s3://lab/reno/src.pcap/",
            "s3://lab/../src.pcap",
            "http://h//src.pcap",
            "http://h/a//b.pcap",
            "http://h/src.pcap/",
            "http://h/a%2Fb.pcap",
        ] {
            let error = connected(url).err();
            assert!(matches!(error, Some(Error::Key { .. })), "{url}: {error:?}");
        }
        for url in ["s3://lab/a/50% ?.pcap", "http://h/a/50%25%20%3F.pcap"] {
            assert_eq!(connected(url).unwrap(), "a/50% ?.pcap");
        }
        let folder = Connected::to_folder("s3://lab/a/", &options()).unwrap();
        assert_eq!(folder.path.as_ref(), "a");
    }

    fn options() -> StoreOptions {
        let option = "skip_signature=true".parse().unwrap();
        StoreOptions::from_iter([option])
    }

    #[test]
    fn time_ends_retries_before_their_number_does() {
        let RetryConfig {
            backoff,
            max_retries,
            retry_timeout,
        } = retries(&StoreOptions::default());
        let least = backoff.init_backoff * u32::try_from(max_retries).unwrap();
        assert!(least >= retry_timeout && backoff.max_backoff < retry_timeout / 10);
    }

    #[test]
    fn names_are_without_signatures() {
        let url = "https://user:secret@h/a/src.pcap?X-Amz-Signature=1";
        let to = Connected::to(url, &StoreOptions::default()).unwrap();
        assert_eq!(to.name, "https://h/a/src.pcap");
        assert_eq!(to.path.as_ref(), "a/src.pcap");
    }
}
