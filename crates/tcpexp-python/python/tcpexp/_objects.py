"""Objects in stores of the package obstore."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from tcpexp._shown import shown

_SCHEMES = {"S3Store": "s3", "GCSStore": "gs", "AzureStore": "az"}
_CONTAINERS = ("bucket", "container_name")


class Object:
    """An object in a store of obstore, as a capture.

    >>> store = obstore.store.S3Store("captures", region="eu-west-1")
    >>> tcpexp.rtt(tcpexp.Object(store, "src.pcap"), tcpexp.Object(store, "dst.pcap"))

    The store's bucket, prefix, options and options of its client are used. Programs that give
    credentials (`credential_provider`) cannot be taken over: those of the environment are used.
    """

    def __init__(self, store: Any, path: str) -> None:
        kind = type(store).__name__
        if kind != "HTTPStore" and kind not in _SCHEMES:
            raise TypeError(f"expected a store of obstore for S3, Google, Azure or HTTP, not {kind}")
        if getattr(store, "credential_provider", None) is not None:
            raise ValueError("a store with a credential_provider: set its credentials in the environment")
        self._store = store
        self._path = path

    def place(self) -> tuple[str, dict[str, str]]:
        """The URL of the object, and the options of its store."""
        store = self._store
        client: Mapping[str, Any] = store.client_options or {}
        options = {name.lower(): _text(value) for name, value in client.items()}
        if type(store).__name__ == "HTTPStore":
            # A URL has other meanings for characters such as `#` and `%`. Keys of stores have none.
            return f"{str(store.url).rstrip('/')}/{quote(self._path)}", options
        config: Mapping[str, Any] = store.config
        named = {name.lower().removeprefix("aws_").removeprefix("azure_"): name for name in config}
        [container] = [config[named[name]] for name in _CONTAINERS if name in named]
        taken = {named[name] for name in _CONTAINERS if name in named}
        options |= {name.lower(): _text(config[name]) for name in config if name not in taken}
        parts = [container, *filter(None, [(store.prefix or "").strip("/")]), self._path]
        return f"{_SCHEMES[type(store).__name__]}://{'/'.join(parts)}", options

    def __repr__(self) -> str:
        return f"<tcpexp.Object: {shown(self.place()[0])}>"


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
