"""The `provider` of one instance in the fleet file: its id, its variant, and where its key is NOT."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from gpu_tui.core.fleet import ProviderAccess
from gpu_tui.core.profile import Profile
from gpu_tui.parse.fields import Fields, secretive, text_of
from gpu_tui.parse.yaml_strict import Node, did_you_mean

_ENV_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}", re.ASCII)
_SECRET_KEYS = ("key", "api_key", "token", "secret", "password")


def parse_provider(node: Node | None, profile: Profile) -> ProviderAccess:
    """How the control API knows the box; empty where the fleet file does not say."""
    if node is None:
        return ProviderAccess()
    if not isinstance(node.value, Mapping):
        # Not shown: it may well be a key.
        raise node.error(
            '"provider" must be a mapping', "Write {id: ..., key_env: NAME_OF_A_VARIABLE}."
        )
    for key, at in node.keys.items():
        if key.lower().replace("-", "_") in _SECRET_KEYS:
            raise at.error(
                f'"{key}": a key never stands in the fleet file',
                "Export it in your shell and name the variable: key_env: AUTODL_TOKEN",
            )
    row = Fields(node, '"provider"', ("id", "variant", "key_env", "base_url"))
    status = profile.facts.get("status")
    usual = status.get("key_env") if isinstance(status, Mapping) else None
    return ProviderAccess(
        id=_identifier(row.values["id"], profile) if "id" in row else None,
        variant=_variant(row, profile),
        key_env=_env_name(row.values["key_env"])
        if "key_env" in row
        else (str(usual) if usual else None),
        base_url=_base_url(row.values["base_url"]) if "base_url" in row else None,
    )


def _variant(row: Fields, profile: Profile) -> str | None:
    word = row.maybe_text("variant")
    if word is None:
        return None
    names = variants_of(profile)
    if word not in names:
        hint = did_you_mean(word, names)
        hint = hint or (f"One of: {', '.join(dict.fromkeys(names.values()))}." if names else None)
        what = f"{profile.id} has no variant {row.place('variant').shown}"
        raise row.place("variant").error(what, hint or "Write null.")
    return names[word]


def variants_of(profile: Profile) -> dict[str, str]:
    """Every word for a variant of this platform -> the variant's id."""
    display = profile.facts.get("display")
    rows = display.get("variants") if isinstance(display, Mapping) else None
    names: dict[str, str] = {}
    for row in rows if isinstance(rows, list) else []:
        for word in (row["id"], *(row.get("aliases") or ())):
            names[str(word)] = str(row["id"])
    return names


def _identifier(node: Node, profile: Profile) -> str:
    """An id as the provider shows it (`job/train-a` in a cluster); digits may stand without quotes."""
    text = (
        node.written if isinstance(node.value, int) and not isinstance(node.value, bool) else None
    )
    word = text if text is not None else text_of(node, "id")
    kind = r"((job|pod)/)?" if profile.kind == "kubernetes" else ""
    if not re.fullmatch(kind + r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}", word, re.ASCII):
        hint = "Copy the id from the provider's page."
        raise node.error(f"{node.shown} does not look like an instance id", hint)
    return word


def _env_name(node: Node) -> str:
    """The NAME of an environment variable. What looks like a secret is never repeated."""
    word = node.value if isinstance(node.value, str) else ""
    bare = re.sub(r"^\$\{?([A-Z][A-Z0-9_]*)\}?$", r"\1", word)
    if _ENV_NAME.fullmatch(bare) and not secretive(bare):
        if bare != word:
            raise node.error("key_env takes a name without $", f"Write key_env: {bare}")
        return word
    size = f"{len(word)} characters, not shown in case it is a secret" if word else node.shown
    raise node.error(
        f"key_env must be the NAME of an environment variable, not its value ({size})",
        "Export the key in your shell and write its name here, like AUTODL_TOKEN. "
        "If this was a real key, it has been in a file: replace it at the provider.",
    )


def _base_url(node: Node) -> str:
    url = text_of(node, "base_url")
    try:
        parts = urlsplit(url)
        host, inside = parts.hostname, (parts.username, parts.password)
    except ValueError:
        host, parts, inside = None, None, (None, None)
    if inside != (None, None):
        raise node.error(
            '"base_url" holds a user name or password', "Remove it; the key comes from key_env."
        )
    if parts is None or not host or parts.scheme not in ("http", "https"):
        raise node.error(
            f"{node.shown} is not a web address", 'Write it like "https://api.example.com".'
        )
    if parts.scheme == "http" and host not in ("127.0.0.1", "::1", "localhost"):
        raise node.error(
            '"base_url": a key is only sent over https', "Write https://, or a loopback address."
        )
    return url.rstrip("/")
