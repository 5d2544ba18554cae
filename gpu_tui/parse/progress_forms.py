"""How frameworks write counters, times and names: the patterns that `progress` reads with.

Every pattern has bounded repeats, so its time is linear in the line.
"""

from __future__ import annotations

import re

from gpu_tui.parse import progress_words as words
from gpu_tui.parse.progress_words import CLOCK, SPELLED, VALUE

EPOCH = re.compile(
    r"(?<![A-Za-z_\-./])(?:train[_/]|current[_ ]|cur_)?(?P<word>epochs?|ep|EPOCHS?|Epochs?|Ep)"
    r"(?:\((?:train|val|test)\))?(?:_idx|_num)?[\"']?[ \t]{0,8}(?:[:=#_\-]{0,2}|"
    r"\.\.\.)[ \t]{0,8}[\[(\"']?[ \t]{0,8}#?"
    r"(?P<epoch>[0-9]{1,7}(?:\.[0-9]{1,18})?)(?![0-9.]*[A-Za-z%])"
    r"(?: {0,6}(?:/|of|out of) {0,6}(?P<epochs>[0-9]{1,7})(?![0-9.]*[A-Za-z]))?"
)
NOT_AN_EPOCH = re.compile(
    r"(?:\b(?:best|per|max|num|every|each|from|last|total|warm-?up|resum\w+|since|n|previous|at)[ _]?"
    r"(?:at |of |from )?|save_)$",
    re.IGNORECASE,
)
# `best acc 0.93 @ epoch 5`, `Best val acc: 0.93 (epoch 5)`: which epoch was the best, at the end of what is said.
BEST = re.compile(r"\bbest\b", re.IGNORECASE)
END_OF_SAYING = re.compile(r"[\s)\].,;!*|]{0,16}$")
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
    r"^\s*(?P<epoch>[0-9]{1,5})/(?P<epochs>[0-9]{1,5}) +[0-9.]{1,7}G(?P<losses>(?: +[0-9.naninf-]{1,10}){2,20})(?: |"
    r"$)"
)
TRAIN_OF = re.compile(  # OpenPCDet: `Train:  1/3 ( 33%) [  98/323 ( 31%)]`
    r"Train: +(?P<epoch>[0-9]{1,6})/(?P<epochs>[0-9]{1,6}) +\( {0,3}[0-9]{1,3}%\) "
    r"\[ *(?P<step>[0-9]{1,9})/(?P<steps>[0-9]{1,9}) \( {0,3}(?P<percent>[0-9]{1,3})%\)\]"
)
EPOCH_BEHIND = re.compile(  # ESPnet: `3epoch:train:101-200batch:`, `3/20epoch started`, `3 epoch / 20 epochs`
    r"(?<![\w./])(?P<epoch>[0-9]{1,6})(?:epoch:train:[0-9]{1,9}-(?P<step>[0-9]{1,9})batch\b"
    r"|/(?P<epochs>[0-9]{1,6}) ?epoch started| epoch / (?P<of>[0-9]{1,6}) epochs|/(?P<all>[0-9]{1,6}) epochs?\b)"
)
STEP_BEHIND = re.compile(r"^\s*(?P<step>[0-9]{1,12}) iter, [0-9]")
EPOCH_PERCENT = re.compile(r"\s{0,3}\[ {0,3}(?P<percent>[0-9]{1,3})%\]")
TICK = re.compile(
    rf"^tick (?P<step>[0-9]{{1,9}}) +kimg .{{1,60}}? time (?P<elapsed>{SPELLED})"
)  # StyleGAN
MARIAN = re.compile(r"\bEp\. (?P<epoch>[0-9]{1,6}(?:\.[0-9]{1,6})?) : Up\. (?P<step>[0-9]{1,12})\b")
OF_MAX = re.compile(
    r"global_step/max_steps[\"']: [\"'](?P<step>[0-9]{1,12})/(?P<steps>[0-9]{1,12})"
)
DEEPSPEED = re.compile(r"/global_step=(?P<step>[0-9]{1,12}),")
SUBSET = re.compile(r"subset +(?P<step>[0-9]{1,9}) / (?P<steps>[0-9]{1,9}) (?=loss=)")
PROCESS = re.compile(
    r"\b(?:Process|Processed|Progress|Batch|"
    r"Iteration)[: ]{1,3}(?P<step>[0-9]{1,12})/(?P<steps>[0-9]{1,12}) ?\( {0,3}(?P<percent>[0-9]{1,3}(?:\.[0-9]{1,9})?) ?%\)"
)
COMPLETE = re.compile(
    r"(?<![\w.])(?P<percent>[0-9]{1,3}(?:\.[0-9]{1,9})?) ?% (?:complete|completed|done)\b"
)
YOLACT = re.compile(r"^\[ *(?P<epoch>[0-9]{1,6})\] +(?P<step>[0-9]{1,12}) \|\| ")
PARLAI = re.compile(
    r"\[ time:(?P<elapsed>[0-9.]{1,12}s) .{0,60}?(?:epochs:(?P<epoch>[0-9]{1,6}(?:\.[0-9]{1,6})?) )?time_left:(?P<eta>[0-9.]{1,12}s)"
)
CATALYST = re.compile(r"^[0-9]{1,6}/(?P<epochs>[0-9]{1,6}) \* Epoch (?P<epoch>[0-9]{1,6}) ")
KERAS_RL = re.compile(r"^\s*(?P<step>[0-9]{1,12})/(?P<steps>[0-9]{1,12}): episode")
TRAINING_BOX = re.compile(r"\bTraining +\[ *(?P<step>[0-9]{1,12})/(?P<steps>[0-9]{1,12})\]")
ONLY_PERCENT = re.compile(r"(?i)\bprogress[:= ]{1,3}(?P<percent>[0-9]{1,3}(?:\.[0-9]{1,4})?)%")
AFTER_STEP = re.compile(r" {0,3}[\[(] {0,3}(?P<percent>[0-9]{1,3}(?:\.[0-9]{1,6})?) ?%[\])]")
BARE = re.compile(  # beside a loss: `[100/1000]`, `100/1000`; no date, no path
    r"(?<![\w./:\-])\[? ?(?P<step>[0-9]{1,12}) ?/ ?(?P<steps>[0-9]{1,12})(?![\w/]|\.[0-9]| [0-9]{2}:)"
)
COUNTS_EPOCHS = re.compile(r"(?i)epochs?[\s:=#\[(]{0,4}$")  # of two lines that ran into each other
EPISODE = re.compile(
    r"(?<![\w.\-/])episode[:=#]? {0,6}(?P<step>[0-9]{1,9})(?:/(?P<steps>[0-9]{1,9}))?(?=[\s,;|:\])]|$)",
    re.IGNORECASE,
)
PER_SECOND = re.compile(r"\b(?:steps|iterations|iters|batches) per second: (?P<rate>[0-9.]{1,12})")
BATCH = re.compile(
    r"\bEpoch\[(?P<epoch>[0-9]{1,6})\] Batch \[(?P<step>[0-9]{1,9})\]"
)  # MXNet, Sockeye
WENET = re.compile(r"\b(?:TRAIN|CV) Batch (?P<epoch>[0-9]{1,6})/(?P<step>[0-9]{1,12}) loss")
OF_EVAL = re.compile(
    r"(?:\b(?:Test|Val|Eval|Validation): \[ *|\bInference done )(?P<step>[0-9]{1,9})/(?P<steps>[0-9]{1,9})\b"
)
NERF = re.compile(
    rf"^\s*(?P<step>[0-9]{{1,9}}) \((?P<percent>[0-9]{{1,3}}\.[0-9]{{1,3}})%\) +[0-9.]{{1,9}} m?s +(?P<eta>{SPELLED}) "
)
TUNE = re.compile(
    rf"(?:^|[\s:])(?P<epoch>[0-9]{{1,6}})\|(?P<step>[0-9]{{1,12}})\|Loss: (?P<loss>{VALUE}):"
)
AT_STEP = re.compile(  # Keras's own loop: `Training loss (for one batch) at step 200: 0.9`
    rf"\b[Tt]rain(?:ing)? loss (?:\([\w ]{{1,30}}\) )?at (?:step|"
    rf"iteration) (?P<step>[0-9]{{1,12}}): {{0,3}}(?P<loss>{VALUE})"
)
ALONE = re.compile(
    rf"^\s*(?:(?:ETA|Estimated time remaining): +(?P<eta>{CLOCK})|Time elapsed: +(?P<elapsed>{CLOCK}))\s*$"
)
WRITER = re.compile(r"\.py:[0-9]{1,5}\] \[(?P<step>[0-9]{1,12})\] (?=[\w/]+=)")  # clu, flax
TOTAL_STEPS = re.compile(r"[\"']total_steps[\"']: {0,2}(?P<steps>[0-9]{1,12})\b")
PERCENTAGE = re.compile(
    r"[\"'](?:percentage|progress)[\"']: {0,2}[\"']?(?P<percent>[0-9]{1,3}(?:\.[0-9]{1,6})?)(?![0-9.])"
)
STEP = re.compile(
    r"(?<![A-Za-z_\-./])(?P<word>(?:global|train|training|optimizer|"
    r"current)?[ _]?(?:steps?(?=\"?: [0-9]+, \"total_steps)|step|iter(?:ation)?|it|update)"
    r"|steps|iters|iterations|num_updates|batch|batches|updates|Global step|global_step)"
    r"(?:_num|_idx|\((?:train|val|test)\))?[\"']?[ \t]{0,8}(?:[:=#]{0,2}|\.\.\.)[ \t]{0,8}[\[(\"']?[ \t]{0,8}#?"
    r"(?P<step>(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,15})[kKM]?)(?![0-9.]*[A-Za-z%])"
    r"(?:\.0(?![0-9]))?(?: {0,6}(?:/|of|out of) {0,6}(?P<steps>(?:[0-9]{1,3}(?:,[0-9]{3})+|"
    r"[0-9]{1,15})[kKM]?)(?![0-9.]*[A-Za-z]))?"
    r"(?=(?P<next>[\s,:;|\])}\"'(>]|$))",
    re.IGNORECASE,
)
NOT_A_STEP = re.compile(
    r"\b(?:per|every|each|max|num|total|warm-?up|accumulation|save|eval|logging|last|best|from|at|in|of|"
    r"job)[ _]$|[@*] ?$|[a-z] / (?:optimizer )?$",
    re.IGNORECASE,
)
# `Training step0: 10 epochs` names a stage and its planned length.
OF_A_STAGE = re.compile(
    r"(?<=[A-Za-z])[0-9]{1,6}: {1,3}[0-9]{1,9} (?:epochs?|steps?|iter\w{0,7}|rounds?)\b"
)
BRACKET = re.compile(r"^\s*\[ *(?P<step>[0-9]{1,12}) ?/ ?(?P<steps>[0-9]{1,12})\]")
OF_BATCHES = re.compile(
    r"(?<![\w/.])(?P<step>[0-9]{1,9})/ {0,4}(?P<steps>[0-9]{1,9}) (?:batches|steps|iterations|iters)\b"
)
LEADING = re.compile(  # xgboost, lightgbm: `[100] train-rmse:0.4`; catboost: `100: learn: 0.6`
    r"^\s*(?:\[(?P<step>[0-9]{1,9})\]\s+(?=\w[\w' \-@]{1,40}: ?-?(?:[0-9]{1,12}\.[0-9]|nan|inf))|"
    r"(?P<colon>[0-9]{1,9})(?::\s+(?=learn:|[0-9.naninf-]+, [0-9.naninf-]+ avg)| \| (?=loss )))"
)
FASTAI = re.compile(  # a row of fastai's table: epoch, training loss, validation loss, metrics, time
    r"^(?P<epoch>[0-9]{1,4}) {6,9}(?P<loss>[0-9]{1,6}\.[0-9]{6}|nan) +(?P<checked>[0-9]{1,6}\.[0-9]{6}|nan|None) +"
    r"(?:(?:-?[0-9]{1,9}\.[0-9]{6}|nan|None) +){0,12}[0-9]{1,3}:[0-9]{2}(?::[0-9]{2})?\s*$"
)
# Forms that name epoch and step at once, each with a sign that it needs.
WHOLE = (
    (TWO_PAIRS, "/"), (TRAIN_OF, "train: "), (EPOCH_BEHIND, "epoch"), (STEP_BEHIND, " iter, "),
    (WRITER, ".py:"), (YOLO, "g "), (TICK, "tick "), (MARIAN, "up. "), (OF_MAX, "max_steps"),
    (DEEPSPEED, "global_step="), (SUBSET, "subset"), (ALONE, "time "), (ALONE, "eta: "),
    (PROCESS, "%)"), (CATALYST, " * epoch"), (KERAS_RL, ": episode"), (TRAINING_BOX, "training "),
    (ONLY_PERCENT, "progress:"), (YOLACT, "||"), (PARLAI, "time_left:"), (BATCH, "batch ["), (WENET, "batch "), (OF_EVAL, "/"), (NERF, "%) "), (TUNE, "|"
                                                                                                                                                      "loss"),
    (AT_STEP, " at "), (FASTAI, "      "),
)  # fmt: skip
ON_SET = re.compile(
    rf"\b(?P<name>accuracy|acc|f1|auc|psnr|miou|map|error) (?:on|of|"
    rf"for) [\w ]{{1,30}}[:=] {{0,3}}(?P<value>{VALUE})",
    re.IGNORECASE,
)
TABLE_ROW = re.compile(rf"^\|\s+(?P<name>[a-z][\w/ ]{{1,40}})\|\s+(?P<value>{VALUE})\s*\|\s*$")
DARKNET = re.compile(
    rf"(?P<loss>{VALUE}), (?P<average>{VALUE}) avg(?: loss)?, (?P<lr>{VALUE}) rate"
)
LOSSES_TOTAL = re.compile(rf"\[Losses: [^\]]{{1,300}}?\btotal (?P<value>{VALUE})")
LOSS_TRAIN = re.compile(rf"\bloss train(?: \(\w{{1,9}}\))?:? (?P<value>{VALUE})")
VALIDATED = re.compile(
    rf"^(?:Validation|Valid|Val|Test) loss [0-9]{{1,12}}: {{0,4}}(?P<value>{VALUE})", re.IGNORECASE
)
CURRENT_RATE = re.compile(r"\bcurrent (?:learning rate|lr)\b", re.IGNORECASE)
IMPROVED = re.compile(rf"\bval_loss improved from {VALUE} to (?P<value>{VALUE})")

ETA = re.compile(
    rf"\b(?:eta|time left|(?:estimated )?(?:time )?(?:remaining|left)(?:[ _]time)?|time to finish|remain|"
    rf"ETA)\b[\"']?(?: \(\w+\))?\s{{0,3}}[:=]?\s{{0,3}}[\"']?(?P<eta>{CLOCK}|{SPELLED})"
    rf"|(?P<left>{SPELLED}) ?(?:left|remaining)\b",
    re.IGNORECASE,
)
ELAPSED = re.compile(
    rf"\b(?:elapsed|time elapsed|total time|"
    rf"elapsed[ _]time)\b[\"']?(?!\s*per)\s{{0,3}}[:=]?\s{{0,3}}[\"']?(?P<elapsed>{CLOCK}|{SPELLED})"
    rf"|(?<![\w.])(?P<before>{CLOCK}|{SPELLED}) ?elapsed\b(?!\s{{0,3}}:)"
    r"|tok/s; {1,9}(?P<last>[0-9]{1,9} sec)\b|^Training Step: [0-9]+ +\| time: (?P<step>[0-9.]{1,12}s)",
    re.IGNORECASE,
)
RATE = re.compile(
    r"(?<![\w.])(?<!(?:Eval|otal): )(?<!(?:ading|rence): )(?P<rate>[0-9]{1,9}(?:\.[0-9]{1,6})?) ?"
    r"(?:(?P<per>(?:it|its|iter|iters|iterations|step|steps|batch|batches|updates)/s(?:ec(?:ond)?)?)\b"
    r"|(?P<inverse>s|ms|secs?|seconds)/(?:it|iter|iteration|step|batch)\b)"
)

RATE_NAMED = re.compile(
    r"\b(?:it|iters?|iterations?|(?:global_)?steps?|batch(?:es)?)/s(?:ec)?\)?[\"']?(?: ?[:=])? {1,4}"
    r"(?P<rate>[0-9]{1,9}(?:\.[0-9]{1,12})?)(?![\w/]|:[0-9])",
    re.IGNORECASE,
)
# `loss: 0.4:  10%|` and `Loss 0.4: : 0it` end a description, before its bar.
_CLOCK_GOES_ON = r":(?!:? {0,8}(?:: {0,8})?(?<= )[0-9]{1,12}(?:%|it\b))"
# A number with a unit, or one that counts things, is no metric: `mem: 8.3 GB`, `step0: 10 epochs`. In `acc: 0.5 h: 7`
# the word is another metric's name.
_NO_NAME = r"(?![\w/'-]|\.\w| {0,3}[:=#\[(]? {0,3}[-+0-9])"
_NO_NAMES = r"(?! {1,2}(?:\w{1,20} ){0,3}\w{1,20} {0,2}[:=])"
_UNIT = (
    r" {1,2}(?:[kKMGT]i?[bB]|bytes|m?s/\w{1,12}|s|ms|us|secs?|seconds?|mins?|minutes?|hrs?|h|hours?|days?|"
    rf"W|[CF]|\u00b0[CF]|MHz|GHz|GFLOPS|TFLOPS){_NO_NAME}"
)
COUNTED = re.compile(
    r" {1,2}(?:epochs?|steps?|iters?|iterations?|it|batch(?:es)?|rounds?|samples?|examples?|images?|files?|items?|tokens?|"
    rf"workers?){_NO_NAME}{_NO_NAMES}"
)
NAMED = re.compile(
    rf"(?<=[\w)\"'@\]/%}}])\s{{0,8}}[:=]\s{{0,8}}[\[(\"']?(?:tensor\(|[aA]rray\(|"
    rf"np\.float[0-9]{{2}}\()?(?P<value>(?>{VALUE}))(?![a-z0-9_/]|{_CLOCK_GOES_ON}|-[0-9]|[A-Z](?![a-z]{{2}})|\.[A-Za-z0-9]| or [iI]nf\b|{_UNIT}|%(?:\||\s?(?:━|╸|─|Completed \||\(?[0-9]{{1,12}}/)))"
)
NAME = re.compile(
    r"(?:(?<![\w.])(?P<lead>[A-Za-z][\w./@+\-]{0,30}) )?(?P<last>[A-Za-z][\w./@+\-]{0,48}(?:\([\w%]{1,12}\))?)[\"']?$"
)
SPACED = re.compile(
    rf"(?<![\w/])(?P<name>{words.SPACED})(?: is|\))? {{1,8}}(?P<value>(?>{VALUE}))(?![\w/]|{_CLOCK_GOES_ON}|-[0-9]|\.[A-Za-z0-9]|{_UNIT})",
    re.IGNORECASE,
)
# LightGBM: `[10]\ttraining's auc: 0.99\tvalid_0's auc: 0.91`, `cv_agg's valid auc: 0.8 + 0.01`; xgboost: `[10]\ttrain-auc:0.9`.
_SET = r"(?P<set>[A-Za-z]\w{0,30}(?='s )|(?:train|eval|test|dev|val(?:id(?:ation)?)?)\w{0,10}(?=-))"
BOOSTED_ROW = re.compile(
    rf"(?:^|\s)\[(?P<step>[0-9]{{1,9}})\][\t ]{{1,8}}(?={_SET}(?:'s |-)[\w@. -]{{1,60}}: ?[-0-9.naif])"
)
BOOSTED = re.compile(
    rf"(?<=\s){_SET}(?P<mark>'s |-)(?:(?P<part>train|valid) )?(?P<name>[A-Za-z][\w@.-]{{0,40}}): ?(?P<value>(?>{VALUE}))(?=\s|$)"
)
TWO_WORDS = frozenset(
    ("loss", "losses", "cost", "rate", "norm", "acc", "accuracy", "score", "error", "time", "scale", "size",
     "iterations", "samples", "map")
)  # fmt: skip
VALIDATING = re.compile(
    r"\b(?:val|valid|validation|validating|eval|evaluation|evaluating|inference done|cv(?= batch)|test|"
    r"testing|dev)\b(?![_.]?(?:py|loss))"
    r"(?!\w*=)",
    re.IGNORECASE,
)
TRAINING = re.compile(r"\b(?:train(?:ing|_inner)?|learn)\b(?!\.py)", re.IGNORECASE)
SETTINGS = re.compile(
    r"\b(?:Namespace|\w*Config|\w*Args|\w*Arguments|dict)\(|^\s*(?:parser|args|self)\."
)
SETTING_SIGNS = ("(", "parser.", "args.", "self.")
PLAIN_TIMES = frozenset(
    {
        "eta",
        "elapsed",
        "time",
        "epoch",
        "step",
        "iter",
        "iteration",
        "global_step",
        "is",
        "second",
        "seconds",
    }
)
# Where in a program a line was written is no metric: `[main.py][line:98]`, `data_utils.py:284`, `tensor(1.5, device='cuda:0')`, `(TaskRunner pid=87031)`.
PLACES = re.compile(
    r"^(?:line|lineno|line_?number|pid|cuda|device)$|\.(?:py|pyx|cpp|cc|cu|cuh|c|h|hpp|go|rs|java|js)$",
    re.IGNORECASE,
)


SPACED_SIGNS = ("loss", "cost ", "l.r.", "lr ", "learning", "acc", "ppl", "perplexity", "norm", "psnr", "ssim", "miou", "bleu", "f1 ", "auc", "prec@")  # fmt: skip
# A line that only looks back at a checkpoint reports no progress, whatever epoch it names.
LOOKING_BACK = re.compile(
    r"\b(?:load(?:ed|ing)|resum\w{1,6}|restor\w{1,4}|reload\w{0,4})\b.{0,60}\b(?:checkpoint|ckpt|state|"
    r"weights|model|snapshot|epoch|step|from)\b(?!.{0,200}%\|)(?! shards)"
    r"|\bstart(?:ing)? training from\b",
    re.IGNORECASE,
)
LOOKING_SIGNS = ("load", "resum", "restor", "training from")
# One of these stands in every report; most lines hold none of them and are done here.
SIGNS = (
    "%|", "━", "% ", "[=", "[#", "percentage", "learning rate", "/s", "s/", " [", "it[", "epoch", "ep ", "ep:", "ep=", "step", "iter", " it ", "batch", "update", "loss",
    "cost", "train:", "eta", "avg", "learn:", "acc", "psnr", "ssim", "iou", "bleu", "rouge", "map", "f1", "auc", "rmse",
    "mae", "mse", "ppl", "perplexity", "reward", "rew_", "recall", "precision", "norm", "prec", "top", "bpc", "bpb", "fid",
    "wer", "dice", "tick ", "█ ", "episode", "progress", "%) ", "%[", "%] ", "transferred", "g   ", "b  |", "'s ", " 0:0", "complete", "elapsed", "elbo", "nll", "return", "score", "|"
                                                                                                                                                                             "  ",
)  # fmt: skip
