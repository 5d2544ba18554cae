"""The names under which frameworks print the numbers of a run, and how numbers and times are written.

Tables only: to teach the reader a new framework, add its words here or its counter in `progress`.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

NUMBER = (
    r"[-+]?(?:(?:0,[0-9]{3}|[0-9]{1,3},(?:[0-9]{1,2}|[0-9]{4,12}))(?![0-9])(?!,[0-9])"  # decimal comma
    r"|[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]{1,40})?"
    r"|[0-9]{1,18}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][-+]?[0-9]{1,3})?"
)
VALUE = rf"(?:{NUMBER}|[-+]?(?:nan|NaN|NAN|inf|Inf|INF|Infinity)(?:\(ind\))?)"
COUNT = r"[0-9]{1,12}(?:\.[0-9]{1,6})?[kKMGT]?"
CLOCK = r"(?:[0-9]{1,5} ?(?:days?|d),? ?)?[0-9]{1,5}:[0-9]{2}(?::[0-9]{2})?(?:\.[0-9]{1,6})?"
SPELLED = r"(?:[0-9]{1,6}(?:\.[0-9]{1,3})? ?(?:days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|sec|s|ms)(?![A-Za-z_])(?: and )?[ ,:]{0,2}){1,4}"

# Normalised names (lower case, `_` between words), best first: an instantaneous total beats an average.
LOSS = (
    "loss", "total_loss", "train_loss", "training_loss", "lm_loss", "loss_total", "tr_loss",
    "loss_train", "loss_step", "train_loss_step", "train_total_loss", "batch_loss", "cur_loss",
    "trainloss", "losses", "loss_value", "overall_loss", "final_loss", "avg_loss", "average_loss",
    "mean_loss", "train_loss_epoch", "running_loss", "loss_avg", "train_avg_loss", "loss_epoch",
    "reduced_train_loss", "avr_loss", "cross_entropy_loss", "crossentropyloss", "train_crossentropyloss", "smooth_loss", "smoothed_loss", "cost", "train_cost", "ce_loss", "nll_loss", "objective",
)  # fmt: skip
VAL_LOSS = (
    "val_loss", "valid_loss", "validation_loss", "eval_loss", "loss_val", "loss_valid",
    "val_total_loss", "dev_loss", "test_loss", "valloss", "loss_eval", "loss_test", "val_loss_epoch",
    "avg_val_loss", "validation_avg_loss", "eval_avg_loss", "loss_validation", "valid_avg_loss",
)  # fmt: skip
RATE_NAMES = (
    "lr", "learning_rate", "l_r", "learningrate", "lr_0", "lr0", "lr_pg0", "base_lr", "current_lr",
    "train_lr", "lr_adamw", "lr_adam", "lr_sgd", "cur_lr", "train_learning_rate", "lr_group_0", "actor_lr",
)  # fmt: skip
SPEED_NAMES = (
    "steps_per_second", "steps_per_sec", "iters_per_second", "iter_per_second", "it_s", "iters_sec",
    "iterations_per_second", "batches_per_second", "batches_per_sec", "steps_s", "steps_sec", "iter_s",
)  # fmt: skip
CALLED_PREFIX = ("train_", "training_", "valid_", "val_", "validation_", "eval_", "test_")

# A name that makes a line a report even when no counter stands on it (with a fractional value).
METRICS = frozenset((
    "acc", "accuracy", "top1", "top5", "top_1", "top_5", "acc_1", "acc_5", "prec_1", "prec_5",
    "f1", "f1_score", "macro_f1", "micro_f1", "bleu", "rouge", "rouge1", "rouge2", "rougel",
    "map", "map50", "map50_95", "bbox_map", "ap", "ap50", "ap75", "psnr", "ssim", "lpips", "iou",
    "miou", "mean_iou", "dice", "auc", "auroc", "roc_auc", "rmse", "mae", "mse", "r2",
    "perplexity", "ppl", "bpc", "bpb", "fid", "wer", "cer", "reward", "mean_reward",
    "ep_rew_mean", "ep_len_mean", "exact_match", "em", "mcc", "spearman", "pearson", "recall",
    "precision", "val_acc", "test_acc", "train_acc", "hit", "ndcg", "mrr", "avg_reward",
    "return", "average_return", "episode_reward_mean", "gnorm", "grad_norm", "nll", "elbo", "kl",
    "success_rate", "score", "best_acc", "best_acc1", "bits_per_dim",
))  # fmt: skip

SPACED = (
    r"(?:(?:train|training|val|valid|validation|test|eval|dev|avg|average|total|mean|lm|best)[ _/])?"
    r"(?:loss|losses|lr|learning[ -]rate|acc|accuracy|ppl|perplexity|nll_loss|gnorm|grad_norm|grad norm|norm|"
    r"psnr|ssim|miou|bleu|f1|auc|cost|l\.r\.|acc@[0-9]|prec@[0-9])"
)

SCALE = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_UNIT = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6}


_DECIMAL_COMMA = re.compile(r"[-+]?(?:0,[0-9]{3}|[0-9]{1,3},(?:[0-9]{1,2}|[0-9]{4,12}))(?:e.*)?")


def number(text: str) -> float:
    """A printed number; `nan` and `inf` in any spelling become what they say."""
    low = text.lower()
    if "nan" in low:
        return math.nan
    if "inf" in low:
        return -math.inf if low.startswith("-") else math.inf
    if _DECIMAL_COMMA.fullmatch(low):
        low = low.replace(",", ".")
    try:
        return float(low.replace(",", ""))
    except ValueError:
        return math.nan


def count(text: str) -> int:
    """A counter: `1200`, `1,200`, `1.2k`, `440M`."""
    scale = SCALE.get(text[-1:], 1.0)
    return round(float(text.replace(",", "").rstrip("kKMGT")) * scale)


def seconds(text: str) -> float | None:
    """Seconds of `01:23`, `1:02:03`, `8 days, 21:23:42`, `1h 2m`, `45s`, `29ms`; None for `?`."""
    text = text.strip()
    clock = re.fullmatch(
        r"(?:([0-9]+) ?(?:days?|d),? ?)?([0-9]+):([0-9]{2})(?::([0-9]{2}))?(?:\.([0-9]+))?", text
    )
    if clock:
        days, first, second, third, part = clock.groups()
        whole = [int(first), int(second), *([int(third)] if third else [])]
        total = float(int(days or 0) * 86_400)
        total += whole[0] * 3600 + whole[1] * 60 + whole[2] if third else whole[0] * 60 + whole[1]
        return total + (float(f"0.{part}") if part else 0.0)
    found = re.findall(r"([0-9]+(?:\.[0-9]+)?) ?(ms|us|[dhms])", text.lower())
    if not found:
        return None
    return sum(float(value) * _UNIT[unit] for value, unit in found)


@lru_cache(1024)
def normal(name: str) -> str:
    """A printed name as the tables have it."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
