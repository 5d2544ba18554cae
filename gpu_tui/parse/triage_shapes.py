"""Lines that are known by their shape: frames of a traceback, source text, help, dumps, table heads.

Their words mean nothing, whatever they are: a source line that names an error raises no alarm.
"""

from __future__ import annotations

import re

# A key that says what to do about exceptions: which to catch, to expect, to try again for.
PLAN = (
    r"[\w.-]{0,40}(?:retry|retri|ignor|expect|except_|exceptions_|handle|skip|allow|tolerat|catch|raise|on_err|"
    r"on_fail|on_except|recover|swallow|suppress|(?:error|exception|exc)s?_cl(?:as)?s)"
)
# What launchers put before a line of one rank: `[rank0]: `, `[1,0]<stderr>:`, `(Worker pid=7) `, `node3: `.
PREFIX = re.compile(
    r"^(?:(?:\| \d{1,16} \| )?\d{4}-\d\d-\d\d[ T][\d:.,]{8,15} \[[A-Z]{4,5} ?\] \S{1,80}-std(?:err|out) \S{1,80} - |"
    r"\d{4}-\d\d-\d\d[ T][\d:.,]{8,15} \| |ERROR \d\d-\d\d [\d:]{8} \[?[\w.]{1,40}:\d{1,5}\] (?=\s|"
    r"Traceback|$)|INFO \d\d-\d\d [\d:]{8} \[?[\w.]{1,40}:\d{1,5}\] (?=\s|Traceback|$)|\x5b(?:default|"
    r"rank)\d{1,5}\]:?(?: (?! {3}\S))?|\[\d{1,5}\]:(?: (?! {3}\S))?|\[\d{1,4},\d{1,5}\]<std(?:err|"
    r"out)>:(?: (?! {3}\S))?|\([\w .#=-]{0,60}pid=\d+[^)]{0,40}\) ?"
    # Python's own form of a record, where the level says nothing.
    r"|(?:INFO|DEBUG):[A-Za-z_][\w.]{0,60}:(?=[A-Za-z\x5b])"
    # A manager of experiments, before what a trial of its prints.
    r"|\[\d{4}-\d\d-\d\dT[\d:.]{8,18}Z?\] [\w-]{4,60} \|\| ?"
    # What one of Google's loggers passes on of another, or of what stood on its child's stderr.
    r"|[IWE]\d{4} [\d:.]{8,18} +\d{1,18} [\w./-]{1,80}:\d{1,6}\] (?=[IWEF]\d{4} [\d:.]{8,18} |Traceback \(|\s*File \"|"
    r"(?:\w{1,40}\.){0,4}\w{1,40}Error: )"
    # A collector of logs before a frame, or before a launcher: it says when, where and who.
    r"|\d{4}-\d\d-\d\dT[\d:.]{8,18}(?:Z|[+-]\d\d:?\d\d) (?:std(?:err|out) [FP] )?|"
    r"(?:[A-Z][a-z]{2} [ \d]\d [\d:]{8} [\w.-]{1,60} [\w./-]{1,40}\[\d{1,8}\]:) (?=  +\S|Traceback \(|"
    r"\([\w .#=-]{0,60}pid=|\x5brank\d)|\x5bpod/[\w./-]{1,120}\] (?=\s|Traceback|\w{1,40}Error|\x5brank\d)|"
    r"pod/[\w./-]{1,100} \x5b[\w-]{1,40}\] (?=\s|Traceback|\w{1,40}Error|\x5brank\d)"
    r"|[\w.-]{1,40} +\| (?=ERROR|INFO|Traceback| |\x5brank\d)|[\w.-]{1,40}[_-]\d{1,4} +\| |(?:ERROR|"
    r"INFO) +\| (?:std(?:err|out) \| )?(?=[│╭╰ ])|\d{4}-\d\d-\d\d[ T][\d:.,]{8,15} \[(?:ERROR|INFO)\](?= {4})"
    r"|(?:\d{4}-\d\d-\d\d[ T][\d:.,]{8,15} )?(?:\d{1,8} )?\[?ERROR[\]:]?[\w.: ]{0,60}?(?=  File \"|"
    r" {4}(?:return|raise|await|self\.|[a-z_][\w.]{0,60}\([^()]{0,80}\)?,?$|[\w, ]{1,40} = [\w.]{1,60}\())"
    rf"|(?:(?!FATAL|ERROR|CRIT|WARN|INFO|DEBUG)(?![\w.-]{{0,40}}Error: )(?!{PLAN})[\w.-]{{1,40}}: (?=  +\S|Traceback|"
    r"\w{1,40}Error))|\d{1,4}: (?=\s|Traceback|\w{1,40}Error|Killed\b|Aborted\b|Terminated\b|Exception in |"
    r"srun: ))+"
)
_CALL = r"[A-Za-z_][\w.]{0,80}(?:\[[^\]]{0,40}\])?\("
_STATEMENT = (
    r"(?:return\b|raise\b|yield\b|await\b|assert\b|del\b|self\.\w|super\(\)|with .{1,120}:$|"
    r"for .{1,80} in .{1,80}:$"
    r"|(?:el)?if .{1,160}:$|while .{1,80}:$|\w{1,40} = [frb]?[\"']|from [\w.]{1,80} import |import \w|"
    r"def \w{1,40}\(|class \w{1,40}.{0,60}:$|try:$|else:$|except\b.{0,60}:$"
    r"|[\w.,\[\]\"' *]{1,80} = (?:[\w.]{1,80}[\[(]|await |not |self)|(?!what\(\)|\w{1,40}\.\.|"
    r"\w{1,80}\(\d{1,6}\): )[a-z_][\w.]{0,80}(?:\[[^\]]{0,40}\])?\()"
)
_FRAMES = (
    re.compile(r'^\s*(?:│\s*)?File "[^"]{1,400}", line \d+'),
    re.compile(r"^\s{2,}(?:\^+|~+\^+~*|~+)\s*$"),
    re.compile(rf"^(?: {{4,40}}|\t{{1,8}})(?!.{{0,120}}\)[A-Z]\w{{0,40}}Error: ){_STATEMENT}"),
    re.compile(r"^\s{4,40}[\"']?\)\.[a-z_]{2,20}\("),
    re.compile(r"^\s{4,40}[A-Z]\w{1,40}\(.{0,300}\)\.[a-z_]{2,20}\([^()]{0,80}\)\s*$"),
    re.compile(r"^\s{4,40}[rfb]{1,2}[\"'].{0,400}[\"']\s*[,)]{0,3}\s*$"),
    re.compile(r"^\s{4,40}[rfb]{0,2}\"[^\"]{8,300}(?: \"|\"\){1,3})\s*$"),
    re.compile(r"^\s{4,40}[\"'].{0,400}[\"'] % [\w(][\w.,() ]{0,80}$"),
    # The source line below a warning: a text and no more.
    re.compile(r"^ {2}[rfb]{0,2}\"(?![^\"]{0,300}Error: )[^\"]{8,300}\"\)?\s*$"),
    # A source line with its number, as IPython and notebooks show it.
    re.compile(
        rf"^(?: {{1,8}}|-{{1,8}}> ?)\d{{1,5}} (?:(?:raise|except|return|assert|if|elif) .{{1,200}}|try:\s*(?:#.*)?$|"
        rf"except:| {{4,60}}(?:{_STATEMENT}|try:\s*#|except\b|#|[rfb]{{0,2}}[\"'].{{1,300}}[\"'][\s,)]{{0,4}}$))"
    ),
    # A frame of glibc at the end of any line: `libfoo.so(bar+0x5c) [0x7f00]`.
    re.compile(r"^.{0,200}?\.so[\w.]{0,8}\(.{0,300}\+0x[0-9a-f]{1,8}\) ?\[0x[0-9a-f]{6,16}\]\s*$"),
    re.compile(r"^\s*(?:frame )?#\d{1,3}:? +(?:0x[0-9a-f]+|\S.{0,200}(?:\(| in |\+ 0x))"),
    re.compile(r"^\s*#\d{1,3}:? <?(?:unknown function|\w{1,40}::)"),
    re.compile(r"^\s*\[0x[0-9a-f]{6,16}\] [\w:~<]{2,}"),
    re.compile(r"^\s{0,8}\d{1,3}# \S.{0,200}(?:\(| at | in )"),  # as Boost writes one
    re.compile(r"^Exception raised from \S+ at .{1,200}\(most recent call first\)"),
    re.compile(
        r"^(?:During handling of the above exception|The above exception was the direct cause)"
    ),
    re.compile(r"^\s*(?:Current thread|Thread) 0x[0-9a-f]+.{0,80}\(most recent call first\)"),
    re.compile(
        r"^\s*(?:@ +0x[0-9a-f]+|\*\*\* Check failure stack trace|\[<[0-9a-f]{6,16}>\]|Call Trace:|"
        r"Stack trace:|\[ ?\d+\] /\S+\(.{0,80}\)\s*\[0x)"
    ),
    re.compile(r"^\s*[│╭╰] ?(?:[❱>]? *\d{1,5} +│? ?|.{1,160}:\d{1,6} in \w)"),
    re.compile(r"^╰─+╯"),
    # Frames of Java and JavaScript.
    re.compile(
        r"^\s{1,8}at (?:async |new )?[\w$.<>/@]{2,200}(?: \[as \w{1,40}\])? ?\([^()]{0,300}\)\s*$"
    ),
    re.compile(r"^\[?\d.{0,120}? {3}raise \w{1,40}\("),
    re.compile(
        r"^\s{4,40}(?:(?:el)?if|else|except|for|while|with)\b.{0,160}?: ?raise [\w.]{1,60}\("
    ),
    re.compile(r"^\[?\d{1,4}[-/:]\d\d[-/:]\d[\d:., TZ\]-]{4,24} raise [A-Z]\w{1,40}\("),
    # Also after a logger's level, where the indentation is lost.
    re.compile(
        r"^\[?\d{1,4}[-/:]\d\d[-/:]\d[\d:., TZ\]|-]{4,24}[\w.:]{0,60}[ |\[-]{1,4}(?:ERROR|CRITICAL|INFO|WARNING)[ |\]:-]{1,5}"
        r"(?:raise|return|await|yield) (?:await )?[A-Za-z_][\w.]{0,80}\("
    ),
    re.compile(r"^\s*Error in \S{1,80} \(line \d+\)"),
    # Frames of Julia: `[1] f(x::Int)`, `@ Module path.jl:7`.
    re.compile(
        r"^\s*\[\d{1,3}\] (?:[\w!#.@]{1,80}(?:[({]|$| at )|\(::|macro expansion|top-level scope)"
    ),
    re.compile(r"^\s*@ (?:[A-Z]\w{1,40} )?\S{1,200}\.jl:\d"),
    # A frame of the kernel: `oom_kill_process.cold.33+0xb/0x10`.
    re.compile(
        r"^.{0,120}?(?<!Caller)[\s?:]\w[\w.]{1,60}\+0x[0-9a-f]{1,8}/0x[0-9a-f]{1,8}(?: \[\w{1,30}\])?\s*$"
    ),
    re.compile(r"^\s*\[?(?:Previous line repeated|Stack \(most recent call last\))"),
)
# Of a shell, and of languages whose statements end with a sign.
_STATEMENTS = (
    re.compile(
        r"^\s*(?:(?:if|elif|while|until) (?:! ?)?(?:\[|\(\(|test |[\w./-]{1,40} )[^\n]{0,300}; (?:then|do)\b|"
        r"(?:\} )?(?:echo|printf|die) [\"']|(?:\|\||&&) ?[{(]? ?(?:echo|exit|die)\b|"
        r"[a-z][\w./-]{0,40} [^:\n]{0,200}? (?:\|\||&&) [{(]? ?(?:exit \d|(?:echo|die)\b[^\n]{0,200}[\"'});])\s*$)"
    ),
    re.compile(
        r"^\s*(?:\d{1,5} ?\| *)?(?:\} ?)?(?:throw |(?:std::)?c(?:err|out|log) ?<<|f?printf ?\(|fputs ?\(|"
        r"(?:static_)?assert ?\(|\w{1,30}(?:CHECK|ASSERT|[Cc]heck|[Aa]ssert|[Ee]rrchk)\w{0,20} ?\(|if ?\(|if err [!:]?= |catch ?\(|"
        r"exit ?\(|abort ?\(|console\.\w{1,10}\(|log\.[A-Z]\w{1,20}\(|#define )[^\n]{0,400}[;{}\\]\s*(?://[^\n]{0,200})?$"
    ),
)
_SOURCE = (
    re.compile(
        r"^(?:>>> (?!ERROR|FATAL)|\.\.\. (?!FAIL|ERROR)|\$ |\+{1,3} |%%|In ?\[\d{1,5}\]: ?|def \w{1,40}\(|class \w{1,40}[(:]|"
        r"import \w{1,40}(?: as \w{1,40})?\s*$|from [\w.]{1,80} import \w|raise \w{1,40}\(|"
        r"(?:el)?if .{1,160}:\s*$"
        r"|print\(|sys\.exit\(|try: \w|return (?!(?:code|status)\W{0,3}(?:is )?\d)\S|assert [\w.]{1,80}[ (.,]|try:\s*$|else:\s*$|except\b.{0,60}:\s*$|"
        r"loggers?\.\w{1,40}\(|export \w{1,40}=|set -[a-z]|for \w{1,40} in .{1,80}(?::|; do)\s*$)"
    ),
    re.compile(
        r"^\s*(?:#(?! ?[0-9]|#\[error\]| Out of bounds values|> Error|## CAUGHT| A fatal error|"
        r" There is insufficient| Ended \(code |#{0,5} ERROR: |##+ .{0,60}\b(?:failed|FAILED|crashed|aborted)\b)|//|/\*)"
    ),
    re.compile(
        r"^\s*(?:[\w.]{1,80} = )?(?:float\(['\"]|(?:np|torch|math)\.[\w.]{1,60}\().{0,400}[)\],:]\s*$"
    ),
    re.compile(r"^\s*(?:trap ['\"]|alias \w{1,40}=|\w{1,40}\.add_argument\()"),
    *_STATEMENTS,
)
_HELP = (
    re.compile(r"^\s*usage: \S", re.IGNORECASE),
    re.compile(r"^\s{0,12}--?[A-Za-z][\w-]*(?:[ ,=]|$)"),
    re.compile(r"^\s*\[--?[\w-]+(?: [\w,{}.\[\]-]+)?\](?: |$)"),
    # The second column of argparse, a field of a docstring.
    re.compile(r"^ {24}[a-z][\w'-]{0,20} [a-z]|^\s*:(?:raises?|params?|returns?|r?type)\b"),
    re.compile(r"^\s*(?:\"\"\"|\'\'\')"),
)
_VERBS = (
    r"(?:[Ff]ix|[Aa]dd|[Hh]andle|[Mm]erge|[Rr]evert|[Bb]ump|[Uu]pdate|[Rr]emove|[Ii]mprove|[Aa]void|"
    r"[Ss]upport|[Cc]atch|[Rr]aise|[Mm]ake|[Uu]se|[Pp]revent|[Rr]efactor|[Cc]hange|[Dd]eprecate|feat|"
    r"docs|chore|test|perf|style|ci)"
)
# Titles of changes, and what somebody has tested: they name the failures that were mended.
_TITLES = (
    re.compile(
        rf"^[\s*|\\/]{{0,12}}(?:commit )?[0-9a-f]{{7,11}} (?:\([^)]{{1,80}}\) )?\[?{_VERBS}|"
        rf"^(?:HEAD is now at|Previous HEAD position was) [0-9a-f]"
        r"|^\s{0,3}[*+t-]? ?(?:\[(?:new|deleted|tag update|up to date)[ \w]{0,12}\]|"
        r"[0-9a-f]{6,12}\.{2,3}[0-9a-f]{6,12}) {1,20}\S{1,120} +-> "
    ),
    re.compile(
        rf"^\W{{0,12}}(?:[0-9a-f]{{7,11}} )?Merge (?:pull request|branch|remote-tracking) |"
        rf"^\[[\w./-]{{1,60}} [0-9a-f]{{7,11}}\] |^\s*[-*\u2022] (?:[\w/.,\[\] -]{{1,50}}(?: -|"
        rf":) )?(?:{_VERBS}|(?:[Dd]o not|[Dd]on.t|[Rr]educe|[Ll]imit|[Cc]orrect|[Ss]uppress|[Dd]etect|"
        rf"[Rr]eport|[Pp]roperly|Issue #\d)\b)|^(?:fix|feat|chore|docs|refactor|"
        rf"perf)(?:\([\w./-]{{1,30}}\))?!?: [A-Za-z]"
    ),
    re.compile(
        r"^.{1,400}(?:\.\.\. ?(?:ok|OK|done|passed|yes|no)|\bPASSED(?:\s+\[ {0,3}\d{1,3}%\])?)\.?\s*$"
    ),
)
_DUMPS = (
    # A node of a graph beside what it was asked to say: the exception above it has said so.
    re.compile(r"^\s*\[\[(?:\{\{)?[Nn]ode\b|^\s*(?:node|attr) ?\{ ?(?:name|key): "),
    # Text that a program shows: a title, a prompt, an answer; its words speak of nothing here.
    re.compile(
        r"^\s{0,12}[\"']?(?:title|description|prompt|text|question|answer|content|caption|query|response|"
        r"input|output"
        r"|instruction|sentence|summary|tags?|generated|generation|decoded|completion|prediction|predicted|hypothesis|"
        r"transcript|target)[\"']?\s?[:=]\s?[\"'] ?[A-Za-z<\[]",
        re.IGNORECASE,
    ),
    re.compile(
        r"^\s*[\[{]+\s?[\"'](?:instruction|prompt|text|question|messages|role|content|input|output)[\"']\s?:",
        re.IGNORECASE,
    ),
    re.compile(
        r"^\s*(?:User|Assistant|Human|Question|Answer|Generated(?: text)?|Hypothesis|Reference|Transcript|"
        r"Completion|Story|(?:Model |LLM |Sample )(?:output|response|answer|text)) ?: \S|^[QA]: [A-Z]"
    ),
    re.compile(r"^https?://\S{1,400} \(.{1,300}\)\s*$"),  # an address and what stands there
    re.compile(r"^[A-Z][A-Z0-9]{1,20}_[A-Z0-9_]{1,40}=\S*(?:\s{1,8}#.*)?$"),
    # A stack inside a dump of an error: who dumped it has told of it.
    re.compile(r"^\s*\"\w{0,20}(?:callstack|stack_?trace|traceback)\"\s?:\s?\"", re.IGNORECASE),
    # The level from which a logger speaks is no report of it.
    re.compile(
        r"^\W{0,12}[\w.-]{0,40}(?:level|verbosity|"
        r"severity)[\"']?\s{0,20}[:=]\s{0,20}[\"']?[A-Za-z]{2,12}[\"']?,?\s*$",
        re.IGNORECASE,
    ),
    re.compile(r"^.{0,80}\b(?:Namespace|[A-Z]\w{0,40}(?:Config|Args|Arguments))\("),
    re.compile(r"^\s*\|[-=+|]+\|?\s*$|^\s*[-=+*_#~]{3,}\s*$"),
    re.compile(r"^.{0,100}Volatile Uncorr\. ECC|Uncorr\. ECC \||^\|\s+(?:N/A|\d+%)\s+\d+C\s"),
    re.compile(
        r"^\s*(?:Uncorrectable|Correctable|Double Bit|Single Bit|(?:SRAM|DRAM)[\w ]*|Volatile|Aggregate|"
        r"ECC Errors)\s*(?::\s*(?:0|N/A)\s*)?$"
    ),
    re.compile(r"^Filesystem\s+(?:Type\s+)?\S+\s+\S*Used\s|^Filesystem\s+.*\bUse%"),
)
# Words that somebody wrote or said, not the program: asked only where a rule would answer to them.
_SAID = (
    # The same said plainly: a few words, and no sign that a log would use.
    re.compile(
        r"^\s*(?!batch )(?:\w{1,12} )?(?:(?:prompt|prediction|predicted|pred|generated|decoded|target|hyp|ref|gt|hypothesis|reference|"
        r"transcript|translation|caption|headline|title|sentence|review|comment|tweet|"
        r"summary) ?: (?:[a-z',.]{1,20} ){2}(?!.{0,400}[=:\d_])|(?:user|assistant|input|output|response|"
        r"source|context|text) ?: (?:[a-z',.]{1,20} ){2}(?!.{0,400}(?:[=:\d_()\[\]]|error|fail)))",
        re.IGNORECASE,
    ),
    re.compile(
        r"^.{0,80}(?:[-|] |INFO:? )(?:example (?:hypothesis|reference)|hyp|ref|HYPO|REF|TARGET): "
    ),
    # A transcript: one sort of letters, words of a story, no sign.
    re.compile(
        r"^(?=[A-Z' ]{20,}$).{0,400}\b(?:HE|SHE|HIS|HER|HIM|THEY|THEIR|THEM|YOU|YOUR|WE|OUR|MY|I)\b|"
        r"^(?=[a-z' ]{30,}$).{0,400}\b(?:he|she|his|her|him|they|their|my|i)\b|^[A-Z' ]{90,}$"
    ),
    re.compile(r"^.{0,120}\b(?:Received|Added) request \S{1,80}: prompt: "),
    # A sentence of a book or of a patient's record: a year, a sickness, a war, no sign and no subject of a log.
    re.compile(
        r"^(?:(?:Step|Sample|Example) \d{1,4}: |\[\d{1,4}\] )?(?=[^=:_\[\]{}()/<>|\\]{12,2000}$)(?!.{0,1000}"
        r"\b(?:jobs?|process\w{0,2}|tasks?|runs?|workers?|training|ranks?|nodes?|steps?|epochs?|servers?|gpus?|"
        r"devices?|containers?|pods?|threads?|memory)\b).{0,1000}\b(?:(?:in|crash of) \d{4}(?:[.,;]|$| [a-z]{2,12} [a-z])|"
        r"patients?\b|(?:heart|renal|kidney|liver|respiratory|bank|crop) (?:failure|attack)|plane\b|king\b|"
        r"army\b|village\b|rebellion\b|stock market\b)"
    ),
    # Somebody reasons or explains, as a person begins a sentence and no program does.
    re.compile(
        r"^\W{0,6}(?:I (?:think|believe|guess|need|should|would|want|know|see|must|can see)\b|I'(?:m|ll|ve|d)\b|(?:Okay|OK|Alright|First|Second|Third|"
        r"Next|Then|Finally|However|Also|Additionally|Moreover|Furthermore|Overall|Actually),|But (?:wait|if|since|the|this|we|it)\b|"
        r"In (?:this|that|such|summary|conclusion|short|general|contrast|addition|other words|order to)\b|For (?:example|instance)\b|As an AI\b|"
        r"To (?:fix|solve|find|determine|answer|understand|handle|avoid|prevent|do|see|check)\b[^.]{1,80}, (?:we|you|I|one)\b|"
        r"We (?:need to|want to|should|know|get|can (?!not))|This (?:\w{1,12} )?(?:usually |typically |often |always |only )?(?:means|happens|occurs|implies|"
        r"suggests|indicates)\b|<\|(?:assistant|user|system|human|end)\|>)(?=[^=|{}\[\]\\]{24,2000}$)(?!.{0,2000}(?:\b[a-z]{2,}Error:|[\w.]/[\w.]))"
    ),
    # A point of a list with its head in bold letters, an answer beside its reward.
    re.compile(
        r"^\s*\d{1,2}[.)] \*\*[A-Z][^*]{2,80}\*\*|^[^|]{1,60}\| (?:response|completion|answer|output|generated) ?: [\"']?[A-Za-z]|"
        r"^\[(?:Generated|Output|Sample|Prediction|Reference|Target|Prompt|Response)\] (?:[A-Za-z',.]{1,20} ){2}"
    ),
    # An answer of several paragraphs in one line; what a list says is mended; what is looked for and not yet found.
    re.compile(
        r"^\s*(?:Prompt|Response|Question|Answer|Instruction) ?: [A-Z](?=.{0,2000}\\n\\n)|"
        r"^\s*(?:\d{1,2}[.)] |[-*\u2022] )?(?:\u2705|\u2713|\u2714\ufe0f?|\[x\]) ?(?:Fixed|Resolved|Handled|Added|Created)\b|"
        r"^\d{1,8} .{2,120} \(\d{4}\) [A-Z][\w'-]{2,20}(?:\|[A-Z][\w'-]{2,20}){0,8}\s*$|"  # a film and its kinds
        r"^Checking (?:for|if|whether) .{1,160}(?:\.\.\.|\u2026)\s*$"
    ),
    # What a setting asks to be done.
    re.compile(r"^\s*[\"']?on_(?:error|exception|failure)[\"']?\s?[:=]\s?[\"']?[a-z]\w{1,20}\b"),
    # The words of a topic.
    re.compile(
        r"^\s*(?:topic|cluster|keywords?|terms?)\b[^:]{0,20}: (?:[a-z'-]{2,24}(?:, ?| |$)){3,60}$",
        re.IGNORECASE,
    ),
    re.compile(r"^[STHDPA]-\d{1,9}\t"),  # a sentence, its target and what became of it
    re.compile(
        r"^.{0,12}(?:<\|im_start\|>|<\|start_header_id\|>|\[INST\]|### (?:Instruction|Response|Input|Human|"
        r"Assistant)\b)"
    ),
    re.compile(
        r"^\s*(?:tokens?|words|labels|classes|label_names|features|categories|tags|vocab|"
        r"\w{0,20}columns) ?[:=] ?[\[{(]|^\s*\[(?:['\"][^'\"]{0,60}['\"](?:, ?)?){2,300}\]\s*$",
        re.IGNORECASE,
    ),
)
_BOILERPLATE = re.compile(
    r"^(?:(?:[\w.]{1,80}Error: )?CUDA kernel errors might be asynchronously|"
    r"For debugging consider passing CUDA_LAUNCH_BLOCKING|Compile with `?TORCH_USE_CUDA_DSA"
    r"|If reserved memory is >> allocated|See documentation for Memory Management|"
    r"To enable the following instructions|Search for .cu[A-Za-z_]{4,60}. in https://"
    r"|HYDRA_FULL_ERROR=|Set the environment variable HYDRA_FULL_ERROR)|^\s*(?:time|host|rank|"
    r"error_file)\s+: |^\s*traceback : To enable traceback"
    r"|^(?:Root Cause|Other Failures)|^\s*<NO_OTHER_FAILURES>"
)
_QUIET = (*_SOURCE, *_HELP, *_DUMPS, _BOILERPLATE)
# Source text or a frame behind any stamp, wherever no exception is named before it.
_STAMPED = re.compile(
    r"^(?:(?!Error|Exception|Traceback)[^\n]){1,120}?(?: {2}File \"[^\"]{1,300}\", line \d|"
    r" {3,40}(?:raise [\w.]{1,60}(?:\(|$| from )|except [\w(].{0,100}:$|assert \S|self\.\w[\w.]{0,60}\(|"
    r"(?:logger|logging|log|warnings)\.\w{1,12}\(|[\^~]{3,}$))"
)
_QUOTED = (*_TITLES, *_SAID, _STAMPED)
# When, where and by whom a line was written, and no level of trouble.
_CALM_STAMP = re.compile(
    r"^(?:(?:\[?\d{4}-\d\d-\d\d[T ][\d:.,]{8,18}(?:Z|[+-]\d\d:?\d\d)?\]?|\[?\d\d:\d\d:\d\d\]?|"
    r"[A-Z][a-z]{2} [ \d]\d [\d:]{8} [\w.-]{1,60} [\w./-]{1,40}\[\d{1,8}\]:"
    r"|\[?(?:INFO|DEBUG|NOTICE|stdout)\]?(?::[\w.]{1,40}:)?:?|(?!WARN|ERR|CRIT|"
    r"FATAL)[\w.]{1,60}(?::\w{1,60}:\d{1,6})?(?= [-|] )|\d{1,4}:)(?: *[-|] | +|(?<=:)))+"
)
_BEHIND_A_STAMP = (
    re.compile(r"^(?:##? [A-Za-z]|//|/\*|\"\"\"|\s{0,12}--[a-z][\w-]{1,40} |\s*:raises?\b)"),
    *_STATEMENTS,
    *_TITLES,
    *_DUMPS[:4],
    *_SAID,
)
WARNED = re.compile(r"^\s{0,4}(?:warnings\.)?warn(?:ings\.warn)?\(")
# Ctrl-C as a terminal shows it, alone, behind a progress bar or before what it ran into: too short a word for a rule.
_INTERRUPTED = re.compile(r"(?:^|[\])|%] {0,40})(?:\^C){1,8}[\"']?$|^(?:\^C){1,8}(?!trl)(?=[\w\[])")
SHAPES = (WARNED, _INTERRUPTED, *_FRAMES, *_QUIET, *_QUOTED, _CALM_STAMP)


def shape_of(text: str) -> str | None:
    """`traceback` for a frame or a source line in one, `benign` or `warning` for other dead text, else None.

    `text` has no launcher prefix any more.
    """
    if WARNED.match(text):
        return "warning"
    for pattern in _FRAMES:
        if pattern.match(text):
            return "traceback"
    for pattern in _QUIET:
        if pattern.match(text):
            return "benign"
    return None


def quoted(text: str) -> bool:
    """The words of the line are a person's: a title of a change, a transcript, a prompt, its source."""
    if any(pattern.match(text) for pattern in _QUOTED):
        return True
    stamp = _CALM_STAMP.match(text)
    return stamp is not None and any(
        pattern.match(text[stamp.end() :]) for pattern in _BEHIND_A_STAMP
    )


def interrupted(text: str) -> bool:
    """Somebody pressed Ctrl-C."""
    return ("^C" in text[-4:] or text.startswith("^C")) and _INTERRUPTED.search(text) is not None
