"""A large log as real frameworks write it, the same for the same seed.

Of a thousand lines about 915 are reports (the table below), 48 what loaders print, 2 what a server
prints, 30 text that is never the same twice (samples of a model, names of files), and 5 are warnings
or alarms.
The reports keep each framework's own words, widths and zeros: Megatron's counts nan iterations in
every line, mmengine's and Hugging Face's name a gradient norm.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

Line = Callable[[random.Random, int], str]

WORDS = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "a",
    "is",
    "that",
    "it",
    "was",
    "for",
    "on",
    "are",
    "with",
    "as",
    "his",
    "they",
    "be",
    "at",
    "one",
    "have",
    "this",
    "from",
    "or",
    "had",
    "by",
    "hot",
    "but",
    "some",
    "what",
    "there",
    "we",
    "can",
    "out",
    "other",
    "were",
    "all",
    "your",
    "when",
    "up",
    "use",
    "word",
    "how",
    "said",
    "an",
    "each",
    "she",
    "which",
    "do",
    "their",
    "time",
    "if",
    "will",
    "way",
    "about",
    "many",
    "then",
    "them",
    "would",
    "write",
    "like",
    "so",
    "these",
    "her",
    "long",
    "make",
    "thing",
    "see",
    "him",
    "two",
    "has",
    "look",
    "more",
    "day",
    "could",
    "go",
    "come",
    "did",
    "my",
    "sound",
    "no",
    "most",
    "number",
    "who",
    "over",
    "know",
    "water",
    "than",
    "call",
    "first",
    "people",
    "may",
    "down",
    "side",
    "been",
    "now",
    "find",
    "any",
    "new",
    "work",
    "part",
    "take",
    "get",
    "place",
    "made",
    "live",
    "where",
    "after",
    "back",
    "little",
    "only",
    "round",
    "man",
    "year",
    "came",
    "show",
    "every",
    "good",
    "me",
    "give",
    "our",
    "under",
    "name",
    "very",
    "through",
    "just",
    "form",
]

REPORTS: tuple[tuple[int, Line], ...] = (
    (222, lambda r, i: f"iter {i}: loss {r.uniform(1, 9):.4f}, time {r.uniform(90, 900):.2f}ms, mfu {r.uniform(10, 60):.2f}%"),
    (150, lambda r, i: f"{{'loss': {r.uniform(0, 4):.4f}, 'grad_norm': {r.uniform(0, 9):.6f}, 'learning_rate': {r.uniform(1e-6, 1e-4):.3e}, 'epoch': {i / 9999:.2f}}}"),
    (150, lambda r, i: f" iteration {i:8d}/  500000 | consumed samples: {i * 512:12d} | elapsed time per iteration (ms): {r.uniform(900, 9999):.1f} | learning rate: {r.uniform(1e-5, 1e-4):.6E} | global batch size:   512 | lm loss: {r.uniform(1, 9):.6E} | loss scale: 65536.0 | grad norm: {r.uniform(0, 3):.3f} | number of skipped iterations:   0 | number of nan iterations:   0 |"),
    (100, lambda r, i: f"[11/21 03:{i // 60 % 60:02d}:{i % 60:02d} d2.utils.events]:  eta: {r.randrange(9)}:{r.randrange(60):02d}:{r.randrange(60):02d}  iter: {i}  total_loss: {r.uniform(0, 4):.4f}  loss_cls: {r.random():.4f}  loss_box_reg: {r.random():.4f}  loss_rpn_cls: {r.random():.5f}  time: {r.random():.4f}  data_time: {r.random():.4f}  lr: {r.uniform(1e-5, 1e-3):.6f}  max_mem: 4567M"),
    (100, lambda r, i: f"2025/11/21 03:{i // 60 % 60:02d}:{i % 60:02d} - mmengine - INFO - Epoch(train)  [{i // 5000}][{i % 5000:4d}/5000]  lr: {r.uniform(1e-5, 1e-4):.4e}  eta: 1 day, {r.randrange(24)}:{r.randrange(60):02d}:{r.randrange(60):02d}  time: {r.random():.4f}  data_time: {r.random():.4f}  memory: 14567  grad_norm: {r.uniform(0, 30):.4f}  loss: {r.uniform(0, 4):.4f}  decode.loss_ce: {r.random():.4f}  decode.acc_seg: {r.uniform(50, 99):.4f}"),
    (75, lambda r, i: f"Train: {i // 1251} [{i % 1251:>4d}/1251 ({i % 1251 // 12.51:>3.0f}%)]  Loss: {r.uniform(1, 7):#.4g} ({r.uniform(1, 7):#.3g})  Time: {r.random():.3f}s, {r.uniform(900, 4000):>7.2f}/s  ({r.random():.3f}s, {r.uniform(900, 4000):>7.2f}/s)  LR: {r.uniform(1e-5, 1e-3):.3e}  Data: {r.random():.3f} ({r.random():.3f})"),
    (75, lambda r, i: f"2025-11-21 03:{i // 60 % 60:02d}:{i % 60:02d} | INFO | train_inner | epoch {i // 5000:03d}:  {i % 5000:5d} / 5000 loss={r.uniform(2, 9):.3f}, nll_loss={r.uniform(1, 8):.3f}, ppl={r.uniform(3, 90):.2f}, wps={r.uniform(9e3, 2e4):.1f}, ups={r.random():.2f}, wpb=3527.4, bsz=135.2, num_updates={i}, lr={r.uniform(1e-5, 1e-3):.6f}, gnorm={r.uniform(0, 3):.3f}, loss_scale=16, train_wall={r.randrange(99)}, wall={i}"),
    (40, lambda r, i: f"{i % 500 + 1}/500 [==============================] - {r.randrange(9)}s {r.randrange(99)}ms/step - loss: {r.random():.4f} - accuracy: {r.random():.4f}"),
    (3, lambda r, i: f"Epoch {i // 2000:3d} summary: train_loss={r.random():.4f} val_loss={r.random():.4f} val_psnr={r.uniform(20, 40):.2f} took {r.uniform(100, 900):.1f}s"),
)  # fmt: skip
PLAIN: tuple[Line, ...] = (
    lambda r, i: f"INFO:root:loaded /data/train/shard-{r.randrange(99999):05d}.tar ({r.randrange(9999)} samples)",
    lambda r, i: f"[2025-11-21 03:00:{i % 60:02d},{r.randrange(1000):03d}] [INFO] [loader.py:112:next] prefetched {r.randrange(64)} batches in {r.random():.3f} s",
)  # fmt: skip
SERVED: tuple[Line, ...] = (
    lambda r, i: f'10.0.0.{r.randrange(255)} - - [21/Nov/2025 03:00:{i % 60:02d}] "GET /metrics HTTP/1.1" 200 -',
)  # fmt: skip
UNIQUE: tuple[Line, ...] = (
    lambda r, i: "sample: " + " ".join(r.choices(WORDS, k=r.randrange(20, 45))),
    lambda r, i: (
        f"wrote outputs/{r.randbytes(12).hex()}/{r.choice(WORDS)}_{r.choice(WORDS)}_{i}.png"
    ),
)
TROUBLE: tuple[Line, ...] = (
    lambda r, i: "/opt/conda/lib/python3.11/site-packages/torch/utils/checkpoint.py:460: UserWarning: torch.utils.checkpoint: please pass in use_reentrant=True or use_reentrant=False explicitly.",
    lambda r, i: f"[2025-11-21 03:00:{i % 60:02d},123] [INFO] [loss_scaler.py:183] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
    lambda r, i: f"iter {i}: loss nan, time {r.uniform(90, 900):.2f}ms, mfu 41.00%",
    lambda r, i: f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {r.uniform(1, 9):.2f} GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.1 GiB is free.",
    lambda r, i: "Traceback (most recent call last):",
    lambda r, i: f'  File "/workspace/train.py", line {r.randrange(999)}, in main',
)  # fmt: skip


def _others(at: int) -> tuple[Line, ...]:
    if at < 963:
        return PLAIN
    return SERVED if at < 965 else UNIQUE if at < 995 else TROUBLE


def lines(seed: int = 1) -> Iterator[str]:
    """Lines without end."""
    r = random.Random(seed)
    reports, weights = [line for _, line in REPORTS], [weight for weight, _ in REPORTS]
    for i in range(10**9):
        at = r.randrange(1000)
        if at < 915:
            yield r.choices(reports, weights)[0](r, i)
        else:
            yield r.choice(_others(at))(r, i)


def megabytes(size: float, seed: int = 1) -> bytes:
    """At least `size` million bytes, whole lines."""
    wanted, found = size * 1e6, 0
    parts: list[str] = []
    for line in lines(seed):
        parts.append(line)
        found += len(line) + 1
        if found >= wanted:
            break
    return "\n".join([*parts, ""]).encode()


def one_trainer(size: float, length: int, seed: int = 2) -> bytes:
    """At least `size` million bytes of one trainer that prints each step, in lines of `length` bytes."""
    r = random.Random(seed)
    name = "model.decoder.layers.attention"
    rows = (
        f"step {i}/900000 | loss {r.uniform(1, 4):.4f} | lr {r.uniform(1e-5, 1e-4):.3e} | {r.uniform(1, 9):.2f} it/s"
        f" | grad_norm {r.uniform(0, 3):.4f} | {name}".ljust(length - 1, ".")
        for i in range(int(size * 1e6) // length + 1)
    )
    return "\n".join([*rows, ""]).encode()
