"""Asks sinfo for nodes that are out of service, if a job of the list runs or waits for nodes.

One call names the partitions of the list. It runs as seldom as sacct, and at once when a job starts to wait for
nodes.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpu_tui.collect.probe import NOTHING, Sections
from gpu_tui.parse.slurm_nodes import NODE_FORMAT, Node, parse_nodes

PARTITIONS = 20  # of the list that sinfo is asked about
# Reads squeue's answer from $kept.
WORTH = r"""
    nodes= partitions=
    case $kept in *"|PENDING|"*"|Nodes required"* | *"|PENDING|"*"|ReqNodeNotAvail"* | *"|PENDING|"*"|Resources|"*) nodes=waits ;;
        *"|RUNNING|"*) nodes=runs ;; esac
    [ -z "$nodes" ] || partitions=$(printf '%s\n' "$kept" |
        sed -n 's/^{mark}|\([^|]*|\)\{{6\}}\([A-Za-z0-9_.,-]\{{1,200\}}\)|.*/\2/p' | sort -u | head -n {partitions} | tr '\n' ,)
"""
ASK = r"""
    if turn {beats} || [ "$nodes$nodes_then" = waits ] || [ "$nodes$nodes_then" = waitsruns ]; then
        nodes_then=$nodes out= code=0
        [ -z "$partitions" ] || capture {limit:.0f} sinfo -h -N -R -p "${{partitions%,}}" -o '{mark}|{node_format}'
        show nodes "$code"
    else
        same nodes
    fi
"""


def questions(mark: str, beats: int, limit: float) -> dict[str, str]:
    """The two parts of the sh program, by the names that they have in it."""
    return {
        "nodes": WORTH.format(mark=mark, partitions=PARTITIONS).strip("\n"),
        "ask_nodes": ASK.format(mark=mark, beats=beats, limit=limit, node_format=NODE_FORMAT).strip(
            "\n"
        ),
    }


def nodes_of(sections: Sections, mark: str) -> Mapping[str, Node]:
    """The nodes out of service by name; none where sinfo did not answer."""
    section = sections.get("nodes", NOTHING)
    return {} if section.exit else parse_nodes(section.body.decode("utf-8", "replace"), mark)
