"""`gpu-tui exporter`: the fleet's metrics on loopback, for the Prometheus that you already run."""

from __future__ import annotations

import argparse

from gpu_tui.cli.fleet_args import add_fleet_arguments, fleet_of, fleet_path
from gpu_tui.core.speech import counted, say

EXAMPLE = "gpu-tui exporter --listen 127.0.0.1:9841 --fleet fleet.yaml"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_fleet_arguments(parser)
    parser.add_argument("hosts", nargs="*", metavar="HOST", help="watch these hosts instead")
    parser.add_argument(
        "--listen",
        type=_address,
        default=("127.0.0.1", 9841),
        metavar="HOST:PORT",
        help="where to listen (127.0.0.1:9841); never beyond this machine",
    )


def run(args: argparse.Namespace) -> int:
    """Serve until told to stop; a teardown cannot be started from here."""
    from gpu_tui.wiring import run_exporter

    fleet = fleet_of(args)

    def told(address: str) -> None:
        number = counted(len(fleet.instances), "instance")
        print(say("{number} at {address}/metrics", number=number, address=address), flush=True)

    run_exporter(
        fleet, *args.listen, told=told, reload_from=None if args.hosts else fleet_path(args)
    )
    return 0


def _address(text: str) -> tuple[str, int]:
    from gpu_tui.exporter import NotLoopback, address_of

    try:
        return address_of(text)
    except NotLoopback as error:
        raise argparse.ArgumentTypeError(f"{error}. {error.next}") from None
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
