"""Labels 12 to 14: a value that is none, one without end, a loss scale that gives way."""

from __future__ import annotations

from gpu_tui.parse.triage_rule import (
    FATAL,
    INF,
    LOSS,
    NAN,
    SERIOUS,
    START_VALUE,
    WARN,
    WRAPPED,
    Rule,
    rule,
)

_LOSS = r"(?<![a-z])(?:[a-z]{1,20}_){0,4}" + LOSS
# Names among the losses of a list that are none: metrics, settings.
_NONE = (
    r"(?:acc|iou|prec|recall|map\b|psnr|ssim|score|auc|f1|reward|ignor|value|fill|weight|default)"
)
# The average that a meter prints beside its value.
_MEAN = r"(?:avg|ave|average|mean|running|global|smooth(?:ed)?|ema|median)(?:[_ ](?:avg|average|mean|loss))?\.?"
# Source text, an option, data, advice.
_NO_VALUE = (
    r"(?:isnan|nan_to_num|nanmean|allow_nan|check_nan|skip_?nan|nan_?check|terminateonnan(?!: output| WARNING: )|detect_nan|"
    r"nan_policy)|\binput (?:\w{1,40} )?contains nan|\bif\b.{0,30}nan\b.*:$|np\.nan|float\(|math\.nan|"
    r"missing=nan|dataframe|column|(?:Future|Deprecation)Warning:|\b(?:may|might|could|"
    r"can) (?:also )?(?:lead|cause|result|produce|become|yield)\b|\bavoid\w{0,3} (?:the )?nan"
)

NUMBERS: tuple[Rule, ...] = (
    # --- 12 nan ---
    rule(
        "nan",
        WARN,
        "nan",
        r"\brecover(?:ed|ing) from (?:a |the )?nans?\b|\bnans?\b.{0,60}\breplac(?:ed|ing)\b|nan, inf or huge value|"
        r"\bsimulation\b.{0,40}\bnan\b|\bnan\b.{0,40}\bsimulat",
        r"[a-z](?:Error|Exception): ",
    ),
    # A value behind its name; an average, which one step spoils for good; losses in a list, each with its name or none.
    rule(
        "nan",
        SERIOUS,
        "nan",
        rf"{_LOSS}{NAN}(?! or inf)|"
        rf"{_LOSS}[-+]?\d[\d.]{{0,24}}(?:e[-+]?\d{{1,3}})?(?:\s{{0,4}}[\[(](?:{_MEAN}\s{{0,2}}[:=]?\s{{0,3}})?-?nan\s?[\])]|"
        rf"\s?[,|;]?\s{{1,4}}(?:avg|ave|average|running avg)\.?\s?[:=]?\s{{0,3}}{NAN})|"
        r"(?:\[losses: |\blosses[\"']?\s?[:=]?\s?[\[({]{1,3}|\bloss(?:es)?[\"']?\s?[:=]\s?(?:tensor\()?[\[{]{1,3})(?:[^\[\])}]{0,300}?[\s,\[({](?<![:=]\s))?"
        rf"(?![\w\"']{{0,24}}{_NONE})(?:[\w\"'./-]{{1,32}}(?:\s?[:=]\s?| ))?-?nan(?=\s?[,;\])}}]|\s*$)",
        _NO_VALUE,
    ),
    # What a writer of summaries says of anything that it is given.
    rule(
        "nan",
        WARN,
        "nan",
        r"NaN or Inf found in input tensor",
        r"[a-z](?:Error|Exception): ",
    ),
    rule(
        "nan",
        SERIOUS,
        "nan|diverged|divergence|finite|invalid|probability tensor",
        r"\bgrad(?:ient)?s?\b.{0,40}\binvalid\b|\bnan (?:or|and) inf (?:loss|grad)|Error: nans? in\b|"
        r"\bnans? in (?:the )?(?:forward|backward|loss|grad\w{0,40}|weights?|logits|activations?|"
        r"parameters)\b|\bnan/inf (?:was |were )?(?:detected|found|encountered)|\binvalid value \(nan\)|"
        r"\bnan[ -](?:loss|losses|grad\w{0,40}|cost)(?!\w{0,8}[\"\x27]?\s?[:=]\s{0,4}0)|NanLossDuring|"
        r"\bnan in summary histogram|\breturned nan\b|\btrial \d{1,6} failed with value -?nan\b|\binf (?:or|and|/) ?nan values? in (?:the )?grad|"
        r"\bpotential energy is -?nan|\b(?:loss|parameter|gradient|energy|"
        r"energies)\b.{0,40}\bis not finite|\bterminateonnan: output\b|tensor\(\[{1,3}nan, {1,3}nan|returned nan values|"
        r"\bnans? (?:or infs? |/ ?infs? |and infs? )?(?:was |were |is |values? )?(?:detected|found|"
        r"encountered|occurred|appear\w{0,40})|(?:detected|found|finding|encountered|got|contains?|has|"
        r"have) (?:a |an |some )?(?:nan|nans)\b.{0,60}\b(?:loss|grad\w{0,40}|param\w{0,40}|weights?|model|"
        r"output|logits|activation\w{0,40}|layer|forward|backward)"
        r"|\bnan\b\W{1,3}(?:stop|abort|exit|terminat|halt|quit)|\b(?:loss|grad\w{0,40}|params?|parameters|"
        r"weights?|logits|activations?|network outputs?|model outputs?)\b.{0,40}\b(?:is|are|became|becomes|"
        r"turned|turns|went|goes|contains?|has|have) (?:\w{1,40} ){0,2}(?:nans?|non-?finite|not finite|infinite or nan)|"
        r"(?:training|model|loss|run)\b.{0,20}\b(?:has )?diverged(?! ?[:=]| from\b)|divergence detected|"
        r"non-?finite (?:loss|grad\w{0,40}|norm)|(?:loss|gradient\w{0,40}|norm)\b.{0,60}\bnon-?finite|"
        r"invalid loss, terminating"
        r"|(?-i:[a-z]Loss)[\"']?\s{0,4}[:=]\s{0,4}-?nan\b|\bloss {0,12}: {0,12}-?nan\b|"
        r"\bloss\b.{0,30}[:=] ?\([^)]{0,30}\bnan\b|\btensor had nan values|\bloss\w{0,8}\b.{0,20}\b(?:n a n|"
        r"inf or nan)\b|-?nan, -?nan avg|\bloss: nan(?-i:[A-Z])|"
        r"satisfy the constraint .{1,80} found invalid values|probability tensor contains|"
        r"^\s{0,20}tensor\(\[{0,2}nan.{0,80}grad_fn|\btrain\w{0,12}[-_](?:smoothl1|cross-?entropy|l1|l2|mse|"
        r"mae|rmse|logloss|nll|error)\w{0,12}[\"']?\s{0,3}[:=]\s{0,3}-?nan\b|"
        r"^\s*\d+/\d+\s+[\d.]+G(?:\s+[\d.]+){0,6}\s+nan\b|\[\d{1,9}/\d{1,9} [\d:]{4,12}<[\d:]{4,12},? -?nan\b",
        _NO_VALUE,
    ),
    rule(
        "nan",
        WARN,
        "nan",
        r"[\w)\]%@][\"']?\s{0,2}[:=]\s{0,6}[\[(\"']{0,2}"
        + NAN
        + r"|\b(?:acc\w{0,40}|auc|f1|map|ap|iou|miou|reward|mean|std|score|psnr|ssim|recall|precision|kl|"
        r"entropy|rew_mean|len_mean)\b\s{0,4}\|?\s{0,8}" + NAN + r"|\|\s{0,20}nan\s{0,20}\||"
        # A meter's average, an array's number.
        r"[-\d.]\s{0,3}\(-?nan\)|\bnan\(nan\)|\b(?:np\.float\d\d|Array)\(nan\b",
        r"(?:missing|fill_value|na_values?|default|nan_policy|constant_values|value|mask_value)[\"']?\s*[:=]|Error: nans? [a-z]{2}|"
        r"np\.nan|float\(|math\.nan|namespace\(|def |dtype",
    ),
    # --- 13 inf ---
    rule(
        "inf",
        SERIOUS,
        "inf",
        r"(?<![a-z])(?!"
        + START_VALUE
        + r"[a-z]{0,4}[_ ])(?:(?!"
        + START_VALUE
        + r"_)[a-z]{1,16}_){0,3}loss(?:es)?[\w/]{0,24}[\"']?(?:\s{0,4}(?:is|was|became|reached|=|:|->|"
        rf"\|)?|\s{{5,40}}=)\s{{0,8}}[\[(\"'=]{{0,3}}{WRAPPED}"
        + INF
        + r"|\binf[ -]loss|returned inf|\btensor had inf values|\binfs? (?:was |were |values? )?(?:detected|found|encountered) in|"
        r"(?:detected|found) infs?\b.{0,60}\b(?:loss|param\w{0,40}|weights?|model|output|logits|"
        r"activation\w{0,40}|layer|forward)|(?:loss|logits|activations?|weights?|"
        r"output)\b.{0,24}\b(?:contains?|has|have|is) (?:\w{1,40} )?(?:infs?\b|infinite)",
        r"\b0/\d+ \[|\bimproved from|\b"
        + START_VALUE
        + r"[_ ](?:\w{1,40}[_ ]){0,2}loss|isinf|float\(|np\.inf|math\.inf|\b(?:step|iter|iteration)[ :=]{1,3}0\b",
    ),
    # --- 14 overflow ---
    rule(
        "overflow",
        FATAL,
        "loss scale|loss is probably|scale is|due to overflow",
        r"\bloss scale reached (?:the )?minimum\b|\bdue to overflow\b.{0,12}\b(?:exiting|abort)|"
        r"\bgrad[_ ]scale is (?:too )?small\b|loss[_ ]scale (?:to|:) ?\d[\d.]*e-(?:0?[6-9]|[1-9]\d{1,3})\b|"
        r"minimum loss scale reached|loss scale already at minimum|your loss is probably exploding",
    ),
    rule(
        "overflow",
        SERIOUS,
        "loss scale",
        r"attempted loss scale: ([\d.e+]+), (?:but hysteresis is \d+\. )?reducing to \1(?![\d.])|"
        r"reducing loss scale to 0(?:\.0+)?\s*$",
    ),
    rule(
        "overflow",
        WARN,
        "overflow|loss scale|loss scaler|norm|found_inf|found inf|skipping step",
        r"\bOVERFLOW!|\bgrad(?:ient)?s? overflow|overflow detected|(?:reducing|lowering|decreasing|"
        r"halving) (?:the )?loss[ _]scal|setting loss[ _]scal|loss[ _]scal\w{0,40}.{0,60}\b(?:reduc|decreas|"
        r"lower|halv)|grad\w{0,40}[_ ]?norm\w{0,40}[\"']?\s{0,3}[:=]?\s{0,6}[\"']?"
        + WRAPPED
        + INF
        + r"|\bgnorm[ =:]{1,3}"
        + INF
        + r"|found_inf[\"']?\s*[:=]\s*(?:[1-9]|true)|found infs?\b|\binf(?:s|inite|"
        r"init\w{1,4})?\b.{0,40}\bskipp|overflow.{0,40}\bskipp|skipp\w{1,40} step.{0,40}\b(?:inf|overflow|"
        r"scale)",
        r"max_grad_norm|max_norm|clip_grad_norm|overflow(?:ed)? encountered|stack overflow|stackoverflow|buffer overflow",
    ),
    # --- 13, quiet part: an infinite metric ---
    rule(
        "inf",
        WARN,
        "inf",
        r"(?<![\w])(?!"
        + START_VALUE
        + r")[a-z][\w/@.]{0,40}[\"']?\s{0,2}[:=]\s{0,6}[\"']?"
        + INF
        + r"|\b(?:ppl|perplexity|psnr|snr|score|reward)\s{1,8}"
        + INF,
        r"(?:_|\b|\.)"
        + START_VALUE
        + r"(?:_\w{1,40})?[\"']?\s*[:=]\s*[\"']?[-+]?inf|(?:best|min|max|lowest|highest|"
        r"init\w{0,4}) [\w ]{1,20}[:=]\s{0,3}[-+]?inf|\b0/\d{1,12} \[|np\.inf|float\(|math\.inf|"
        r"namespace\(|config\(|space|improved from",
    ),
)
