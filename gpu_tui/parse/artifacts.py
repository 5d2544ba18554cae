"""`results.artifacts` of the fleet file, and --artifact: the files that every cell must leave."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_tui.core.manifest import ARRAY_SUFFIXES, CHECKPOINT_SUFFIXES
from gpu_tui.core.required import INDEX, Required
from gpu_tui.parse.fields import Fields, text_of
from gpu_tui.parse.yaml_strict import Node

ARTIFACTS_MOST = 16
LENGTH_MOST = 255


class ArtifactError(Exception):
    """What was written cannot be asked of a cell. `next` says what to write instead."""

    def __init__(self, text: str, next: str) -> None:
        super().__init__(text)
        self.text, self.next = text, next


def parse_artifacts(row: Fields, key: str) -> tuple[str, ...]:
    """The list under `key`; none where it is not there. Errors point at the item, else at the list."""

    def read(node: Node) -> str:
        text = text_of(node, key)
        try:
            return artifact_of(text)
        except ArtifactError as error:
            raise node.error(error.text, error.next) from None

    found = row.items(key, read)
    try:
        return check_artifacts(found) if key in row else ()
    except ArtifactError as error:
        raise row.place(key).error(error.text, error.next) from None


def artifact_of(text: str) -> str:
    """One path below a cell's directory, as it was written. Raises ArtifactError."""
    parts = text.split("/")
    wrong = any(part in ("", ".", "..") or part.count("*") > 1 for part in parts)
    if wrong or len(text) > LENGTH_MOST or any(mark in text for mark in "{}\\"):
        raise ArtifactError(
            f'"{text[:60]}" cannot be a file that every cell leaves',
            'Write a path below the cell\'s directory, like "checkpoint-*/model.safetensors": at most one * '
            "in each name.",
        )
    return text


def check_artifacts(files: Sequence[str]) -> tuple[str, ...]:
    """The list, each once. Raises ArtifactError where it would prove nothing."""
    if len(files) > ARTIFACTS_MOST:
        raise ArtifactError(
            f"there are {len(files)} artifacts, more than {ARTIFACTS_MOST}", "Name fewer."
        )
    if not Required(tuple(files)).weights:
        ends = sorted({*CHECKPOINT_SUFFIXES, *ARRAY_SUFFIXES})
        raise ArtifactError(
            "none of the artifacts holds weights, and a teardown must see each cell's weights load",
            f"Name one that ends in {', '.join(ends)} or {INDEX}: the state of an optimizer, a scheduler or a "
            "random number generator is none. A directory of Orbax cannot be read here: let each run save a "
            ".msgpack, .npz or .safetensors beside it.",
        )
    return tuple(dict.fromkeys(files))
