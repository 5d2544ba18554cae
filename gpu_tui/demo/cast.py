"""Who plays: every box of the demo as data: platform, card, disks, price, queue, and its scene."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpu_tui.demo.box import GIB, MIB, Card, Disk, Hardware

H100 = Card("NVIDIA H100 80GB HBM3", 81_559, 700, 1980, 2619)
A100 = Card("NVIDIA A100-SXM4-80GB", 81_920, 400, 1410, 1593)
RTX4090 = Card("NVIDIA GeForce RTX 4090", 24_564, 450, 3105, 10_501)
V100 = Card("Tesla V100-SXM2-32GB", 32_768, 300, 1530, 877)

SEATS = 24


@dataclass(frozen=True, slots=True)
class Part:
    """One box of the cast. Folders are relative to its home; `scene` names its story."""

    name: str
    platform: str
    scene: str
    hardware: Hardware
    price: str | None
    data: str
    durable: str
    cells: tuple[str, ...]
    task: str = "reconstruction"
    epochs: int = 6
    user: str = "root"
    provider_id: str | None = None
    variant: str | None = None
    hostname: str = ""
    tags: tuple[str, ...] = field(default=("ablation",))

    @property
    def queue_file(self) -> str:
        """The roster, relative to home."""
        return f"{self.data}/q/queue_1.txt"

    @property
    def queue_log(self) -> str:
        """The queue's master log, relative to home."""
        return f"{self.data}/runs/logs/q1_master.log"

    def cell_log(self, cell: str) -> str:
        """One cell's own log, relative to home; `{cell}` gives the fleet file's pattern."""
        return f"{self.data}/runs/logs/{cell}.log"

    @property
    def results(self) -> str:
        """Where finished checkpoints are copied to, relative to home."""
        return f"{self.durable}/final_ckpts"


def autodl_disks(inodes: int) -> tuple[Disk, ...]:
    """The fast data disk and the shared file system, whose inodes are capped apart from its bytes."""
    return (
        Disk("autodl-tmp", "xfs", "/dev/md127", 50 * GIB, 26_214_400),
        Disk("autodl-fs", "nfs4", "10.0.0.9:/fs", 200 * GIB, inodes),
    )


def workspace(size: int = 100 * GIB) -> tuple[Disk, ...]:
    """One volume at ~/workspace; network file systems report no inodes."""
    return (Disk("workspace", "fuse", "mfs#eu-ro-1.runpod.net:9421", size, None),)


STARS: tuple[Part, ...] = (
    Part(
        "vega", "runpod", "healthy",
        Hardware(H100, 2, 251 * GIB, 32.0, 61.0, workspace()),
        "5.38 USD", "workspace", "workspace",
        ("baseline", "no_aug", "ema_off", "lr_3e4", "width_2x"),
        provider_id="k7v2m9x4qd", hostname="k7v2m9x4qd-64410",
    ),
    Part(
        "rigel", "autodl", "inodes",
        Hardware(RTX4090, 1, 90 * GIB, 16.0, 212.0, autodl_disks(2048), utc_offset=8),
        "2.08 CNY", "autodl-tmp", "autodl-fs",
        ("patch_16", "patch_32", "patch_64"),
        task="segmentation", epochs=5, hostname="autodl-container-3f1c118a",
    ),
    Part(
        "lyra", "lambda", "nan",
        Hardware(A100, 1, 216 * GIB, 30.0, 22.0,
                 (Disk("nfs", "nfs4", "10.19.0.4:/lyra", 8192 * GIB, None),)),
        "1.79 USD", "nfs", "nfs",
        ("fp16_lr1e3", "fp16_lr3e4", "bf16_lr1e3"),
        epochs=8, user="ubuntu", hostname="192-0-2-17", tags=("ablation", "precision"),
    ),
    Part(
        "altair", "vastai", "cuda_oom",
        Hardware(RTX4090, 1, 62 * GIB, 12.0, 19.0,
                 (Disk("workspace", "overlay", "overlay", 60 * GIB, 3_932_160),)),
        "0.41 USD", "workspace", "workspace",
        ("batch_64", "batch_48", "batch_32"),
        task="detection", hostname="C.21914402",
    ),
    Part(
        "deneb", "autodl", "cgroup_oom",
        Hardware(A100, 1, 120 * GIB, 14.0, 388.0, autodl_disks(204_800), utc_offset=8),
        "6.98 CNY", "autodl-tmp", "autodl-fs",
        ("workers_16", "workers_8", "workers_4"),
        hostname="autodl-container-9be24d01",
    ),
    Part(
        "polaris", "runpod", "finished",
        Hardware(RTX4090, 1, 83 * GIB, 16.0, 12.0, workspace(40 * GIB)),
        "0.69 USD", "workspace", "workspace",
        ("seed_1", "seed_2", "seed_3"),
        epochs=3, provider_id="p3q8z1n6tw", hostname="p3q8z1n6tw-64411",
    ),
    Part(
        "mira", "autodl", "stopped",
        Hardware(V100, 1, 60 * GIB, 10.0, 90.0, autodl_disks(204_800), utc_offset=8),
        None, "autodl-tmp", "autodl-fs",
        ("teacher_v1", "teacher_v2"),
        provider_id="pro-5d1f0c88a2", variant="pro", hostname="autodl-container-5d1f0c88",
    ),
    Part(
        "sirius", "generic-ssh", "link_drop",
        Hardware(V100, 4, 180 * GIB, 40.0, 34.0,
                 (Disk("data", "ext4", "/dev/nvme0n1p1", 1800 * GIB, 117_440_512),), cgroup=1,
                 driver="470.256.02"),
        None, "data", "data",
        ("ddp_sync", "ddp_nosync", "fsdp"),
        task="pretraining", user="lab", hostname="sirius",
    ),
)  # fmt: skip

UNDERSTUDIES = (
    "capella", "castor", "pollux", "spica", "antares", "regulus", "hadar", "bellatrix",
    "elnath", "alnilam", "mirfak", "dubhe", "wezen", "sargas", "kaus", "adhara",
)  # fmt: skip

_STAGES = (
    ("vastai", RTX4090, "0.38 USD", (Disk("workspace", "overlay", "overlay", 60 * GIB, 3_932_160),)),
    ("lambda", A100, "1.79 USD", (Disk("workspace", "nfs4", "10.19.0.4:/fs", 900 * GIB, None),)),
    ("runpod", H100, "2.69 USD", workspace()),
    ("paperspace", A100, "3.09 USD", (Disk("workspace", "ext4", "/dev/xvda1", 250 * GIB, 16_777_216),)),
)  # fmt: skip


def cast(boxes: int) -> tuple[Part, ...]:
    """The first `boxes` parts: eight stories, then more healthy runs. 1 to 24; ValueError otherwise."""
    if not 1 <= boxes <= SEATS:
        raise ValueError(f"the demo has between 1 and {SEATS} boxes, not {boxes}")
    extras = []
    for number, name in enumerate(UNDERSTUDIES):
        platform, card, price, disks = _STAGES[number % len(_STAGES)]
        cells = tuple(f"{name}_s{seed}" for seed in range(1, 6))
        rig = Hardware(
            card, 1, 96 * GIB, 16.0, 20.0 + number, disks, uptime=40_000.0 + 977 * number
        )
        extras.append(
            Part(
                name, platform, "healthy", rig, price, "workspace", "workspace", cells,
                hostname=f"{platform}-{name}", tags=("extra",),
            )
        )  # fmt: skip
    return (*STARS, *extras)[:boxes]


DATASET_BYTES = 31 * GIB + 207 * MIB
