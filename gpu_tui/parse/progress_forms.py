"""How frameworks write bars, counters, times and names: the patterns that `progress` reads with.

Every pattern has bounded repeats, so its time is linear in the line.
"""

from __future__ import annotations

import re

from gpu_tui.parse import progress_words as words
from gpu_tui.parse.progress_words import CLOCK, COUNT, SPELLED, VALUE

TIME = rf"(?:{CLOCK}|{SPELLED}|\?)"
BAR = re.compile(
    rf"(?P<percent>[0-9]{{1,3}}(?:\.[0-9]{{1,4}})?)%\|[^|\[]{{0,400}}\| ?"
    rf" *(?P<step>{COUNT})B?/(?P<steps>{COUNT})B? \[(?P<elapsed>{TIME})<(?P<eta>{TIME})"
    r"(?:, *(?P<rate>[0-9.]+[kMGT]?) ?(?P<unit>[^\],]{1,24}))?"
)
ENDLESS = re.compile(
    rf"(?<![\w./])(?P<step>{COUNT}) ?(?P<name>[A-Za-z]{{1,12}}) \[(?P<elapsed>{CLOCK})"
    r"(?:, *(?P<rate>[0-9.]+[kMGT]?) ?(?P<unit>[^\],]{1,24}))?"
)
RICH = re.compile(
    # Possessive, and only from where a bar begins: a long bar is looked at once.
    rf"(?<!━)━[━╸╺ ]{{0,400}}+(?<=[ ╸╺])(?P<step>[0-9]{{1,12}})/(?P<steps>[0-9]{{1,12}}|--) +(?P<elapsed>{CLOCK}|-:--:--)"
    rf"(?: *• *| +)(?P<eta>{CLOCK}|-:--:--)(?: +(?P<rate>[0-9.]+)(?P<unit>it/s|s/it))?"
)
RICH_PERCENT = re.compile(
    rf"(?<!━)━{{3,400}}+[━╸╺ ]{{0,400}}+(?<= )(?P<percent>[0-9]{{1,3}})%(?: +(?P<eta>{CLOCK}))?"
)
KERAS = re.compile(
    r"(?:^|[\s\]])(?P<step>[0-9]{1,9})/(?P<steps>[0-9]{1,9}|Unknown) "
    r"(?P<bar>\[[=>.]{5,}\]|━{5,}|-(?= [0-9]+m?s))"
)
KERAS_TAIL = re.compile(
    rf"(?:-? ?ETA: (?P<eta>{TIME})|(?:- )?(?P<time>{CLOCK}|[0-9]{{1,7}}m?s))"
    r"(?:,? (?P<pace>[0-9.]+(?:ms|us|s))/(?:step|sample))?"
)

EPOCH = re.compile(
    r"(?<![A-Za-z_\-./])(?:train[_/]|current[_ ]|cur_)?(?P<word>epochs?|ep|EPOCHS?|Epochs?|Ep)"
    r"(?:\((?:train|val|test)\))?(?:_idx|_num)?[\"']?[ \t]{0,8}[:=#_\-]{0,2}[ \t]{0,8}[\[(\"']?[ \t]{0,8}#?"
    r"(?P<epoch>[0-9]{1,7}(?:\.[0-9]{1,18})?)(?![0-9.]*[A-Za-z%])"
    r"(?: {0,6}(?:/|of|out of) {0,6}(?P<epochs>[0-9]{1,7})(?![0-9.]*[A-Za-z]))?"
)
NOT_AN_EPOCH = re.compile(
    r"(?:\b(?:best|per|max|num|every|each|from|last|total|warm-?up|resum\w+|since|n|previous|at)[ _]?"
    r"(?:at |of |from )?|save_)$",
    re.IGNORECASE,
)
AFTER_EPOCH = re.compile(
    r"[\s:|,\[\](\-]{1,12}(?:Iter0?\()?(?P<step>[0-9]{1,12}) {0,6}/ {0,6}(?P<steps>[0-9]{1,12})"
    r"(?: ?\( {0,4}(?P<percent>[0-9]{1,3}(?:\.[0-9]+)?)%\))?(?![0-9.]*[A-Za-z/])"
)
TRAIN_COUNT = re.compile(  # timm: `Train: 3 [ 50/1000 (  5%)]`
    r"^[^\w]{0,4}(?:\S+ ){0,4}?Train: (?P<epoch>[0-9]{1,6}) (?=\[ *[0-9]+/[0-9]+ )"
)
TWO_PAIRS = re.compile(  # `[0/25][100/1583]`
    r"\[ *(?P<epoch>[0-9]{1,7})/(?P<epochs>[0-9]{1,7})\] ?\[ *(?P<step>[0-9]{1,9})/(?P<steps>[0-9]{1,9})\]"
)
YOLO = re.compile(  # `  3/99  8.2G  0.045 ...`
    r"^\s*(?P<epoch>[0-9]{1,5})/(?P<epochs>[0-9]{1,5}) +[0-9.]{1,7}G(?P<losses>(?: +[0-9.naninf-]{1,10}){2,8}) "
)
STEP = re.compile(
    r"(?<![A-Za-z_\-./])(?P<word>(?:global|train|training|optimizer|current)?[ _]?(?:step|iter(?:ation)?|it|update)"
    r"|steps|iters|iterations|num_updates|batch|batches|updates|Global step|global_step)"
    r"(?:_num|_idx)?[\"']?[ \t]{0,8}[:=#]{0,2}[ \t]{0,8}[\[(\"']?[ \t]{0,8}#?"
    r"(?P<step>[0-9][0-9,]{0,14}[kKM]?)(?![0-9.]*[A-Za-z%])"
    r"(?:\.0(?![0-9]))?(?: {0,6}(?:/|of|out of) {0,6}(?P<steps>[0-9][0-9,]{0,14}[kKM]?)(?![0-9.]*[A-Za-z]))?"
    r"(?=(?P<next>[\s,:;|\])}\"'(]|$))",
    re.IGNORECASE,
)
NOT_A_STEP = re.compile(
    r"\b(?:per|every|each|max|num|total|warm-?up|accumulation|save|eval|logging|last|best|from|at|in|of)[ _]$",
    re.IGNORECASE,
)
BRACKET = re.compile(r"^\s*\[ *(?P<step>[0-9]{1,12}) ?/ ?(?P<steps>[0-9]{1,12})\]")
OF_BATCHES = re.compile(
    r"(?<![\w/.])(?P<step>[0-9]{1,9})/ {0,4}(?P<steps>[0-9]{1,9}) (?:batches|steps|iterations|iters)\b"
)
LEADING = re.compile(  # xgboost, lightgbm: `[100] train-rmse:0.4`; catboost: `100: learn: 0.6`
    r"^\s*(?:\[(?P<step>[0-9]{1,9})\]\s+(?=[\w']+[ \-']|\w+:)|(?P<colon>[0-9]{1,9}):\s+(?=learn:|[0-9.naninf-]+, [0-9.naninf-]+ avg))"
)
ON_SET = re.compile(
    rf"\b(?P<name>accuracy|acc|f1|auc|psnr|miou|map|error) (?:on|of|for) [\w ]{{1,30}}[:=] {{0,3}}(?P<value>{VALUE})",
    re.IGNORECASE,
)
TABLE_ROW = re.compile(rf"^\|\s+(?P<name>[a-z][\w/ ]{{1,40}})\|\s+(?P<value>{VALUE})\s*\|\s*$")
DARKNET = re.compile(
    rf"(?P<loss>{VALUE}), (?P<average>{VALUE}) avg(?: loss)?, (?P<lr>{VALUE}) rate"
)
IMPROVED = re.compile(rf"\bval_loss improved from {VALUE} to (?P<value>{VALUE})")

ETA = re.compile(
    rf"\b(?:eta|time left|remaining(?: time)?|ETA)\b[\"']?(?: \(\w+\))?\s{{0,3}}[:=]?\s{{0,3}}[\"']?(?P<eta>{CLOCK}|{SPELLED})"
    rf"|(?P<left>{SPELLED}) ?left\b",
    re.IGNORECASE,
)
ELAPSED = re.compile(
    rf"\b(?:elapsed|time elapsed|total time|elapsed time)\b(?!\s*per)\s{{0,3}}[:=]?\s{{0,3}}(?P<elapsed>{CLOCK}|{SPELLED})",
    re.IGNORECASE,
)
RATE = re.compile(
    r"(?<![\w.])(?P<rate>[0-9]{1,9}(?:\.[0-9]{1,6})?) ?"
    r"(?:(?P<per>(?:it|its|iter|iters|iterations|step|steps|batch|batches)/s(?:ec)?)\b"
    r"|(?P<inverse>s|ms|sec)/(?:it|iter|step|batch)\b)"
)

NAMED = re.compile(
    rf"(?<=[\w)\"'@\]/%}}])\s{{0,2}}[:=]\s{{0,8}}[\[(\"']?(?:tensor\()?(?P<value>{VALUE})(?![\w:/]|\.[A-Za-z0-9]|%\|)"
)
NAME = re.compile(
    r"(?:(?P<lead>[A-Za-z][\w./@+\-]{0,30}) )?(?P<last>[A-Za-z][\w./@+\-]{0,48}(?:\([\w%]{1,12}\))?)[\"']?$"
)
SPACED = re.compile(
    rf"(?<![\w/])(?P<name>{words.SPACED})(?: is|\))? {{1,8}}(?P<value>{VALUE})(?![\w:/])",
    re.IGNORECASE,
)
TWO_WORDS = frozenset(
    ("loss", "losses", "rate", "norm", "acc", "accuracy", "score", "error", "time", "scale", "size",
     "iterations", "samples", "map")
)  # fmt: skip
VALIDATING = re.compile(
    r"\b(?:val|valid|validation|validating|eval|evaluation|evaluating|test|testing|dev)\b(?![_.]?(?:py|loss))"
    r"(?!\w*=)",
    re.IGNORECASE,
)
TRAINING = re.compile(r"\btrain(?:ing|_inner)?\b", re.IGNORECASE)
SETTINGS = re.compile(
    r"\b(?:Namespace|\w*Config|\w*Args|\w*Arguments|dict)\(|^\s*(?:parser|args|self)\."
)
PLAIN_TIMES = frozenset(
    {"eta", "elapsed", "time", "epoch", "step", "iter", "iteration", "global_step"}
)


SPACED_SIGNS = ("loss", "lr ", "learning", "acc", "ppl", "perplexity", "norm", "psnr", "ssim", "miou", "bleu", "f1 ", "auc", "prec@")  # fmt: skip
# A line that only looks back at a checkpoint reports no progress, whatever epoch it names.
LOOKING_BACK = re.compile(
    r"\b(?:load(?:ed|ing)|resum\w{1,6}|restor\w{1,4}|reload\w{0,4})\b.{0,60}\b(?:checkpoint|ckpt|state|weights|model|snapshot|epoch|step|from)\b(?!.{0,200}%\|)(?! shards)",
    re.IGNORECASE,
)
# One of these stands in every report; most lines hold none of them and are done here.
SIGNS = (
    "%|", "━", "/s", "s/", " [", "it[", "epoch", "ep ", "ep:", "ep=", "step", "iter", " it ", "batch", "update", "loss",
    "cost", "train:", "eta", "avg", "learn:", "acc", "psnr", "ssim", "iou", "bleu", "rouge", "map", "f1", "auc", "rmse",
    "mae", "mse", "ppl", "perplexity", "reward", "rew_", "recall", "precision", "norm", "prec", "top", "bpc", "bpb", "fid",
    "wer", "dice", "elbo", "nll", "return", "score", "|  ",
)  # fmt: skip
