"""Texts without secrets."""

from __future__ import annotations

import re


def shown(argument: str) -> str:
    """An argument without what may be a key, a password or a signature: the values of options of
    object stores, and the queries and user information of URLs."""
    option = re.match(r"--storage-option=[^=]*=", argument)
    if option:
        return f"{option[0]}…"
    # The URL of a log follows its flag and kind: `--log=ss=https://…`.
    url = re.search(r"(^|=)https?://", argument)
    if not url:
        return argument
    place = re.split("[?#]", argument[url.end() :], maxsplit=1)[0]
    host, slash, path = place.partition("/")
    return argument[: url.end()] + host.rpartition("@")[2] + slash + path
