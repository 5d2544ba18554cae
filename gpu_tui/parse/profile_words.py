"""The vocabulary of a profile: its keys, its closed sets of words, its eight headings.

profiles/_schema.md says the same to people.
"""

from __future__ import annotations

SECTIONS = (
    "LAUNCH",
    "STORAGE MODEL",
    "NETWORK",
    "SPOT / INTERRUPTION + RESUME",
    "TEARDOWN / BILLING",
    "DAEMON TOOL",
    "TOP GOTCHAS",
    "SCRIPT OVERRIDES",
)
SUMMARY = (
    "platform",
    "kind",
    "meter_stop_verb",
    "meter_stop_irreversible",
    "detach_primitive",
    "spot_available",
    "spot_grace",
    "shared_fs",
    "inode_cap",
    "free_egress",
    "china_mirror_needed",
    "host_driver_cuda_max",
    "local_nvme",
)
PARTS = (
    "display",
    "storage",
    "clocks",
    "conveniences",
    "ssh",
    "spot",
    "overrides",
    "teardown",
    "status",
    "price",
    "gotchas",
)
OPTIONAL = ("signs",)
PROOF = ("source", "verified", "confidence")  # every fact has the three

KINDS = ("ssh-rental", "cloud-api", "kubernetes", "slurm", "ssh", "notebook")
DETACH = ("tmux", "nohup", "sbatch", "k8s-job", "kaggle-commit")
WHEN = ("running", "stopped", "account", "storage", "reading")
ANCHOR = (
    "stopped_at",
    "created_at",
    "last_contact",
    "balance",
    "rental_end",
    "reading",
    "signal",
    "manual",
)
# An anchor that only means something in one state.
ANCHOR_NEEDS = {"stopped_at": "stopped", "created_at": "running", "balance": "account"}
CLOCK_EFFECT = ("destroys", "stops", "bills")
VERB_EFFECT = ("stop", "destroy")
SEVERITY = ("critical", "high", "medium", "low")
CONFIDENCE = ("high", "medium", "low")
METER = ("stops", "partly", "continues")
SIGN = ("file", "env")
VIA = ("http", "ssh", "cli", "console")
UNSURE = "host-dependent"

DISPLAY = ("en", "zh", "short", "console", "docs", "aliases", "variants", "note")
TIER = (
    "id", "label", "path", "watch", "survives_stop", "survives_destroy", "size", "speed",
    "inode_cap", "bills_when_stopped", "region_locked", "applies_to", "note", *PROOF,
)  # fmt: skip
CLOCK = (
    "id", "when", "anchor", "after", "effect", "loses", "severity", "avoid", "applies_to", "note",
    *PROOF,
)  # fmt: skip
VERB = (
    "verb", "label", "effect", "deletes", "meter", "reversible", "via", "applies_to", "call",
    "proof", "steps", "note", *PROOF,
)  # fmt: skip
GROUPS = {
    "ssh": ("flavour", "user", "host", "port", "moves", "copies", "forwards", "note"),
    "spot": ("available", "grace", "signal", "detect", "resume", "note"),
    "status": ("via", "base_url", "key_env", "query", "states", "gone", "balance", "note"),
    "price": ("currency", "unit", "fields", "note"),
}
