"""`gpu-tui init`: a commented fleet file, made from the hosts of ~/.ssh/config."""

from __future__ import annotations

import argparse
import glob
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpu_tui.core.profile import FALLBACK_PLATFORM
from gpu_tui.core.speech import counted, say
from gpu_tui.new_file import write_new
from gpu_tui.parse.host import AddressError, parse_host
from gpu_tui.parse.ssh_words import split
from gpu_tui.settings import FleetError, read_text, user_home

EXAMPLE = "gpu-tui init --out fleet.yaml"

DEEPEST_INCLUDE = 4
_DIRECTIVE = re.compile(r"([^\s=]+)(?:\s*=\s*|\s+)(.*)")
PLATFORM_OF_HOST = (
    ("seetacloud.com", "autodl"),
    ("autodl.com", "autodl"),
    ("runpod.io", "runpod"),
    ("vast.ai", "vastai"),
    ("matpool.com", "matpool"),
    ("gpushare.com", "gpushare"),
    ("featurize.cn", "featurize"),
    ("lanrui.co", "lanrui"),
    ("lanrui-ai.com", "lanrui"),
)

CODE_HOSTS = ("github.com", "gitlab.com", "bitbucket.org", "gitee.com", "huggingface.co", "hf.co")

HEAD = """\
# The fleet: every box that gpu-tui watches. Durations carry a unit (1s, 15m, 15d); a path on the box is
# absolute or begins with ~/; a local path starts at this file. Keys of providers never stand here.
sweep: my-sweep
defaults:
  poll: 1s              # how often a box is asked
  # stall_after: 15m    # alive, but nothing moved for this long
instances:
"""

FIRST = """\
    # price_per_hour: 2.08 CNY
    # queue: {{file: /root/q/queue_1.txt, log: /root/runs/logs/q1_master.log}}
    # logs: /root/runs/logs/{{cell}}.log            # default: from the platform's profile
    # results: {{remote: /root/final_ckpts, local: ./results/{name}, artifacts: [best.pth, best_metrics.json]}}
    # mounts: [/, /root/data]                       # default: the platform's storage tiers
    # provider: {{id: null, variant: null, key_env: NAME_OF_A_VARIABLE}}
    # ssh: {{known_hosts: null, identity: null, jump: null, transport: null}}  # what ~/.ssh/config does not say
    # scheduler: {{kind: slurm, name: "sweep-*"}}    # or {{kind: kubernetes, context: NAME, namespace: NAME}}
    # tags: [ablation]
    # read_only: true                               # no teardown, no shell on this box
    # same_box: null                                # the name of another entry that is this very box
"""


UNNAMED = "    # platform: runpod                             # gpu-tui profiles lists them; doctor tells what it looks like\n"


@dataclass(frozen=True, slots=True)
class SshHost:
    """One alias of an ssh_config and the address behind it, where it says one."""

    alias: str
    hostname: str | None = None
    chosen: str | None = None  # the platform that a person named

    @property
    def platform(self) -> str:
        """The platform that was chosen or that the address gives away, else a bare box."""
        if self.chosen is not None:
            return self.chosen
        at = (platform for ending, platform in PLATFORM_OF_HOST if self._is_of(ending))
        return next(at, FALLBACK_PLATFORM)

    @property
    def keeps_code(self) -> bool:
        """It is a code host, and nobody's box."""
        return any(map(self._is_of, CODE_HOSTS))

    def _is_of(self, domain: str) -> bool:
        address = (self.hostname or self.alias).lower()
        return address == domain or address.endswith(f".{domain}")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.add_argument("--out", default="fleet.yaml", metavar="FILE", help="default: fleet.yaml")
    parser.add_argument("--force", action="store_true", help="overwrite FILE")
    parser.add_argument("--ssh-config", metavar="FILE", help="default: ~/.ssh/config")


def run(args: argparse.Namespace) -> int:
    """Write the file, prove that it loads, and say what is next."""
    from gpu_tui.parse.fleet_file import parse_fleet
    from gpu_tui.resources import load_profiles

    out = Path(args.out).absolute()
    source = Path(args.ssh_config) if args.ssh_config else user_home(os.environ) / ".ssh/config"
    known = ssh_hosts(source) if source.exists() or args.ssh_config else ()
    hosts = [host for host in known if not host.keeps_code]
    text = fleet_text(hosts)
    fleet = parse_fleet(text, out, load_profiles(), user_home(os.environ))
    try:
        write_new(out, text, replace=args.force)
    except FileExistsError:
        hint = "Use --force to overwrite it, or --out FILE."
        raise FleetError("is there already", str(out), next=hint) from None
    print(f"{args.out}: {counted(len(fleet.instances), 'instance')}: {', '.join(fleet.names)}")
    if not hosts:
        print(
            "  " + say("{file} names no hosts, so the file holds an example: edit it.", file=source)
        )
    print("  " + say("next: edit it, then run `gpu-tui doctor` and `gpu-tui`"))
    return 0


def fleet_text(hosts: list[SshHost]) -> str:
    """The text of a fleet file with one entry per host, the first one with every key in comments."""
    rows = hosts or [SshHost("my-box")]
    lines = [HEAD]
    names: set[str] = set()
    for number, host in enumerate(rows):
        name = _name(host.alias, names)
        names.add(name)
        lines.append(f'  - name: "{name}"\n    host: "{host.alias}"\n')
        known = host.chosen or host.platform != FALLBACK_PLATFORM
        lines.append(f"    platform: {host.platform}\n" if known else UNNAMED)
        if number == 0:
            lines.append(FIRST.format(name=name))
    return "".join(lines)


def ssh_hosts(file: Path) -> list[SshHost]:
    """The aliases of an ssh_config, without patterns; each once, with the first address that is said of it."""
    found: dict[str, SshHost] = {}
    for host in _named_hosts(file, file.parent, 0):
        if host.alias not in found or found[host.alias].hostname is None:
            found[host.alias] = host
    return list(found.values())


def _named_hosts(file: Path, base: Path, depth: int) -> Iterator[SshHost]:
    """Every block's aliases; Include is followed as ssh does it, from one directory on for all files."""
    aliases: list[str] = []
    hostname: str | None = None
    for line in read_text(file, FleetError, errors="replace").splitlines():
        key, value = _directive(line)
        words = _words(value)
        match key:
            case "host" | "match":
                yield from (SshHost(alias, hostname) for alias in aliases)
                named = words if key == "host" else []
                aliases = [word for word in named if _is_host(word)]
                hostname = None
            case "hostname" if hostname is None and words:
                hostname = words[0]
            case "include" if depth < DEEPEST_INCLUDE:
                for pattern in words:
                    for found in _included(base, pattern):
                        yield from _named_hosts(found, base, depth + 1)
    yield from (SshHost(alias, hostname) for alias in aliases)


def _directive(line: str) -> tuple[str, str]:
    """`HostName = box` as keyword and value: blanks, tabs or one = part them."""
    match = _DIRECTIVE.fullmatch(line.strip())
    return (match[1].lower(), match[2]) if match else ("", "")


def _is_host(word: str) -> bool:
    """True for an alias that can be dialled: not a pattern, not a word with spaces."""
    try:
        return parse_host(word).user is None
    except AddressError:
        return False


def _included(base: Path, pattern: str) -> list[Path]:
    """The files of a pattern in the order of names; what cannot be read is passed over."""
    names = sorted(glob.glob(str(base / os.path.expanduser(pattern))))
    return [path for path in map(Path, names) if path.is_file() and os.access(path, os.R_OK)]


def _words(text: str) -> list[str]:
    try:
        return split(text)
    except ValueError:  # a quote without an end: ssh itself refuses the line
        return []


def _name(alias: str, taken: set[str]) -> str:
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", alias).lstrip(".-")[:56] or "box"
    name, number = base, 2
    while name in taken:
        name, number = f"{base}-{number}", number + 1
    return name
