"""The fleet file of a demo: the same schema as a user's own, pointed at the simulated boxes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpu_tui.demo.cast import Part

KEY_ENV = "GPU_TUI_DEMO_KEY"

HEAD = """\
# A simulated fleet: {count} boxes behind real SSH servers on loopback, and their providers.
# It works only while the demo runs. For providers and teardown: export {key_env}=...
sweep: demo-ablation
defaults: {{poll: 1s}}
instances:
"""


def fleet_text(
    parts: Sequence[Part], directory: Path, ports: Mapping[str, int], provider_url: str
) -> str:
    """The whole file. `ports` says where each box answers."""
    head = HEAD.format(count=len(parts), key_env=KEY_ENV)
    return head + "".join(
        _instance(part, directory, ports[part.name], provider_url) for part in parts
    )


def _instance(part: Part, directory: Path, port: int, provider_url: str) -> str:
    box = directory / "boxes" / part.name
    rows = {
        "host": f"ssh://{part.user}@127.0.0.1:{port}",
        "platform": part.platform,
        "price_per_hour": part.price,
        "queue": {"file": f"~/{part.queue_file}", "log": f"~/{part.queue_log}"},
        "logs": f"~/{part.cell_log('{cell}')}",
        "results": {"remote": f"~/{part.results}", "local": str(directory / "results" / part.name)},
        "mounts": [f"~/{disk.path}" for disk in part.hardware.disks],
        "provider": _provider(part, provider_url),
        "ssh": {
            "known_hosts": str(directory / "known_hosts"),
            "identity": str(directory / "id_demo"),
            "config": str(directory / "ssh_config"),
        },
        "roots": {name: str(box / name) for name in ("cgroup", "proc", "sys", "dev")},
        "tags": list(part.tags),
    }
    # JSON is YAML: nothing in a path can break out of its quotes.
    lines = [
        f"    {key}: {json.dumps(value, ensure_ascii=False)}\n"
        for key, value in rows.items()
        if value is not None
    ]
    return f"  - name: {json.dumps(part.name)}\n" + "".join(lines)


def _provider(part: Part, url: str) -> dict[str, str] | None:
    if part.provider_id is None:
        return None
    access = {"id": part.provider_id, "key_env": KEY_ENV, "base_url": url}
    return access if part.variant is None else {**access, "variant": part.variant}
