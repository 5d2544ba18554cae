"""Libraries that tell of a failure in a form of their own: a place in a kernel's source and CUDA's words, a physics engine,
a loader of cuDNN, a compiler of models, a resolver of packages, a store of objects.
"""

from __future__ import annotations

from gpu_tui.parse.triage_evidence import COPED
from gpu_tui.parse.triage_grammar import HEAD
from gpu_tui.parse.triage_rule import ADVICE, CALM, FATAL, SERIOUS, SURVIVED, Rule, rule

# `device_helpers.cuh(456): `, `updater.cu: 279: `, `x.cu line 33: ` before what the runtime says of an error.
_KERNEL_AT = (
    r"\.cuh?(?:[(:]|: | line |, line |:line )\s?\d{1,6}\)?(?::\d{1,5})?(?:\W{1,4}|: CUDA error: )"
)
_CUDA_SAYS = (
    r"(?:invalid (?:argument|configuration argument|device (?:function|ordinal|context|symbol|pointer)|resource handle|pitch argument|"
    r"program counter)|initialization error|unknown error|unspecified launch failure|too many resources requested|an illegal \w{4,12}|"
    r"misaligned address|operation not (?:permitted|supported)|system not yet initialized|driver shutting down|context is destroyed|"
    r"device kernel image|no kernel image|named symbol not found|all CUDA-capable|peer access|unrecognized error code|"
    r"hardware stack error|the launch timed out|the provided PTX)\b"
)
_CUDA_LIBRARY = (
    r"(?:lib)?(?:cudnn|cublas|cudart|cufft|cusparse|cusolver|curand|nvrtc|nvjitlink)[\w.*-]{0,40}"
)

LIBRARY_FAULTS: tuple[Rule, ...] = (
    # A place in a kernel behind the words.
    rule(
        "gpu_oom",
        FATAL,
        "out of memory",
        r"\bout of memory (?:at|in) \S{1,200}\.cuh?(?::\d| at line \d)",
    ),
    rule("cuda_error", FATAL, ".cu", _KERNEL_AT + _CUDA_SAYS, "warning"),
    # RELION's macro around each call of CUDA, whatever the file: the words, the place, the number.
    rule(
        "cuda_error",
        FATAL,
        "(error-code",
        rf"(?-i:ERROR): {_CUDA_SAYS} in \S{{1,240}} at line \d{{1,6}} \(error-code \d",
    ),
    # PhysX and the simulators around it: a kernel or a copy of its own on the card.
    rule(
        "cuda_error",
        FATAL,
        "internal error :|physx error: ",
        r"\bPxg\w{1,60}\.(?:cpp|cu|h)\b ?\(\d{1,6}\) ?: internal error :|\binternal error : (?:GPU |SynchronizeStreams|memcpy failed)|"
        r"\bPhysX error: (?=.{0,80}\bfail)(?:.{0,40}(?-i:\bGPU\b)|.{0,40}(?-i:\bcu[A-Z]\w{3,30})|Synchroniz)",
        "warning :",
    ),
    # What of the card could not be had, by whoever wanted it; an event on it that TensorFlow does not know.
    rule(
        "cuda_error",
        FATAL,
        "cuda|event status",
        r"\b(?:could ?n.t|could not|unable to|cannot|can not|failed to) (?:get|create|acquire|retain|set|obtain|open|select|push|make|initiali[sz]e|enumerate) "
        r"(?:an? |the |any )?(?:[\w-]{1,16} ){0,4}?(?-i:CUDA) (?:primary )?(?:device|context|stream|event)s?\b|\bunexpected event status: (?!0\b)\d",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    # A card that the library was not built for.
    rule(
        "cuda_error",
        SERIOUS,
        "not compatible with the current|no longer supports this gpu",
        r"\bcapability sm_\d{2,3}\w? is not compatible with the current \w{3,12} installation\b|\bno longer supports this GPU\b",
    ),
    # A back end of ggml by its name, and what it could not do; kernels that a program builds for the card it finds.
    rule(
        "cuda_error",
        FATAL,
        "ggml_|kernels for",
        r"\bggml_(?:cuda|hip|musa|sycl|vulkan|vk|metal)_\w{2,40}: .{1,60}\bfailed\b|\bfailed to (?:compile|build) (?:\w{1,20} ){0,3}kernels for (?:the )?GPU\b",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    # A convolution for which no way was found.
    rule(
        "cuda_error",
        FATAL,
        "no algorithm worked|fwd algo|bwd algo",
        r"\bno algorithm worked!|\bcuDNN isn.t found (?:FWD|BWD) algo\b",
        f"{SURVIVED}|{CALM}",
    ),
    # A part of CUDA that the loader does not find, where nobody says that he goes on without it.
    rule(
        "cuda_error",
        FATAL,
        "load|locate|find|open|library",
        rf"\b(?:could ?n.t|could not|unable to|cannot|can not|failed to) (?:load|locate|dlopen) (?:any of |the )?(?:dynamic |shared )?(?:library |symbol |"
        rf"function )?\W{{0,3}}{_CUDA_LIBRARY}|\blibrary \W?{_CUDA_LIBRARY}\W? is not found\b|\bcannot load symbol (?-i:cu[a-z]+[A-Z])",
        f"{SURVIVED}|{CALM}|dlerror|\\boptional|\\bwarn|\\bImportError\\b|(?:^| )[WI] \\S",
    ),
)
LIBRARY_LOADS: tuple[Rule, ...] = (
    # Who could not take up what was there, and begins anew.
    rule(
        "ckpt_corrupt",
        SERIOUS,
        "restor|resum|load",
        r"^\W{0,4}(?:[\w.]{1,40}: )?(?:model |weights |checkpoint |state )?(?:restor|resum|load)(?:e|ing|ation)? (?:(?:of|from) .{1,60} )?(?:has )?failed\b"
        r".{0,24}[,;.!:] ?(?:so )?(?:training|starting|initiali[sz]ing|building|creating|using) (?:a |the )?(?:new|fresh|from scratch|random|anew)\b",
        r"pretrained|dataset|\bdata\b|\bcache|config|tokenizer|vocab",
    ),
)
LIBRARY_NUMBERS: tuple[Rule, ...] = (
    # Kaldi's sum over a pass.
    rule(
        "nan",
        SERIOUS,
        "objective function|objf|log-like",
        r"\b(?:overall|average) .{0,60}\b(?:objective function|objf|log-like\w{0,8})\b.{0,60}\b(?:is|=|was) -?(?:nan|inf)\b",
    ),
    # A check of what a step gave back, as Megatron writes it; a loss that somebody stops for.
    rule(
        "nan",
        FATAL,
        "unexpected result|too large|too high|too big",
        r"\bunexpected result [\w=]{0,8}nan\b|\b(?:loss|gradients?|grad_norm) (?:is |are |was |became )?too (?:large|high|big)[,;.!:] (?:\w+ ){0,2}?"
        r"(?:stop|abort|exit|quit|terminat)",
        f"{SURVIVED}|{ADVICE}",
    ),
)
LIBRARY_ENDS: tuple[Rule, ...] = (
    # The level `F` of Google's loggers where no date stands before it, and of those that learned it from them.
    rule(
        "exception",
        FATAL,
        ".cc:|.cpp:|.cu:|.h:|.py:",
        r"(?-i:(?:^|\d: )F (?:[A-Za-z]:[/\\])?(?:[\w.-]{1,60}[/\\]){0,20}[\w.-]{1,60}\.(?:cc|cpp|cu|h):\d{1,6}\] |^\[F \d{6} [\d:]{8} \S{1,60}\.py:\d{1,6}\] )",
        "stack trace",
    ),
    rule(
        "exception",
        FATAL,
        "status: ",
        r"^\W{0,4}(?:with )?status: (?-i:INTERNAL|UNKNOWN|ABORTED|DATA_LOSS|FAILED_PRECONDITION|INVALID_ARGUMENT|UNIMPLEMENTED|OUT_OF_RANGE|NOT_FOUND): \S",
        SURVIVED,
    ),
    rule(
        "exception",
        FATAL,
        "occurred when|occurred while|occurred during|occurred in",
        HEAD + r"(?:an? |the )?(?:failure|crash) (?:has )?occurr?ed (?:when|while|during|in) \S",
        COPED,
    ),
    # Two heads of a report: a program's own bug, and the event that Windows writes of a program that crashed.
    rule(
        "exception",
        FATAL,
        "internal error|faulting application",
        r"^\W{0,4}(?:fatal )?internal error(?: \([\w ]{2,20}\))?(?:[:.!]|\s*$)|^Faulting application name: \S",
        SURVIVED,
    ),
    # A signal that the program itself tells of, at whatever level, before its stack.
    rule("exception", FATAL, "signal", r"\bcatche?s a (?:failure|fatal) signal\b"),
    rule("exception", FATAL, "create process", r"\bfailed to create process\.?\s*$"),
    rule(
        "exception",
        FATAL,
        "not supported by",
        r"^\W{0,4}(?:\w{2,20} ){1,4}not supported by your (?:hardware|GPU|graphics card)!",
    ),
    # A test or a step behind its three dots.
    rule(
        "exception",
        FATAL,
        "... fail",
        r"\.{3} {0,2}(?-i:FAIL|FAILED|FAILURE)(?![\w:=])",
        rf"{COPED}|\b(?:checking|performing|looking for|probing|trying|detecting|testing whether)\b",
    ),
    # Tools of CUDA, in the layout of their maker; libraries of threads and of C that end the program themselves.
    rule(
        "exception",
        FATAL,
        "ptxas|nvlink|cicc|cudafe|fatbinary|fork() called|buffer overflow detected|mismatches the version",
        r"^(?:ptxas|nvlink|cicc|cudafe\+\+|fatbinary)\b.{0,300}?\b(?:error|fatal) {1,5}: |^Terminating: fork\(\) called from|"
        r"\*{3} buffer overflow detected \*{3}|^The detected CUDA version \(.{1,20}\) mismatches the version that was used to compile",
    ),
    # Elixir and Erlang, Lua, Ruby, D: the last words of other languages' machines.
    rule(
        "exception",
        FATAL,
        "** (|pid terminated|terminating during boot",
        r"^\s{0,8}\*\* \((?-i:(?:[A-Z]\w{0,40}\.){0,6}[A-Z]\w{0,40}(?:Error|Exception)|EXIT from #PID|exit|stop|throw|bad return value)\b|"
        r"^\W{0,2}(?:kernel pid terminated|runtime terminating during boot) \(",
    ),
    rule(
        "exception",
        FATAL,
        ".lua:|.rb:|.d(",
        r"^(?:\S{1,120}[/\\])?(?:lua(?:jit)?[\d.]{0,4}|th|qlua)(?:\.exe)?: \S{1,160}\.lua:\d{1,6}: \S|"
        r"^\S{1,200}\.rb:\d{1,6}:in ['`].{1,80}': .{1,400}\((?-i:[A-Z])[\w:]{2,60}\)\s*$|"
        r"^(?-i:[a-z]\w{0,30}(?:\.[a-z]\w{0,30}){0,5}\.[A-Z]\w{0,30}(?:Error|Exception)@)\S{1,200}\.d\(\d",
        "warning",
    ),
    # What a shell cannot do: zsh and fish, a command line too long, cmd.exe, Windows' own texts and WSL as whole lines.
    rule(
        "exception",
        FATAL,
        "zsh: |fish: |argument list too long|parse error near",
        r"^(?:\S{1,60}: ?)?zsh: (?:abort|trace trap|bad CPU type|no matches found|parse error|bad pattern|corrupt history)\b|^fish: (?:no matches for wildcard|"
        r"expected|missing end)\b|^\S{1,120}: (?:\S{1,200}: )?argument list too long\s*$",
    ),
    rule(
        "exception",
        FATAL,
        "system cannot|was denied|is denied.|syntax of the command|label syntax|unexpected at this time|windows cannot|input line is too long|unary operator|"
        "e_fail|e_unexpected|catastrophic failure|windows subsystem",
        r"^\s{0,8}(?:the system cannot (?:find|open|execute|write to|read from|accept) the \S.{1,60}\.|access is denied\.|"
        r"the syntax of the command is incorrect\.|the filename, directory name, or volume label syntax is incorrect\.|\S{1,60} was unexpected at this time\.|"
        r"windows cannot (?:find|open|access) \S.{1,200}|the input line is too long\.|missing expression after unary operator .{1,20}|"
        r"catastrophic failure|(?:error code: )?Wsl/[\w/]{2,80}|the windows subsystem for linux instance has terminated\.)\s*$",
        CALM,
    ),
    # A program's own `Error (part): `.
    rule(
        "exception",
        FATAL,
        "error (",
        r"^(?-i:Error|ERROR|Fatal|FATAL) \([\w.-]{2,40}\): (?!none\b|no error|nan\b|inf\b)['\[a-z]",
        SURVIVED,
    ),
    # Polygraphy's mark of what it gives up for, where the verb of the failure is missing.
    rule("exception", FATAL, "[!] ", r"^\[!\] invalid (?-i:[A-Z])\w{2,20}\. ", COPED),
    # What an exception without words leaves as the last line.
    rule(
        "exception",
        FATAL,
        "queue.",
        r"^(?:_?queue|multiprocessing\.queues|asyncio\.queues)\.(?-i:Empty|Full)\s*$",
    ),
    # An archive that is none.
    rule(
        "exception",
        FATAL,
        "format|zipfile offset|tar archive",
        r"^(?:gzip|bzip2|xz|zstd|pigz|tar|\S{1,40}\.t?gz): .{0,200}(?:not in (?:gzip|bzip2) format|file format not recogni[sz]ed|does not look like a tar archive|"
        r"unsupported format)|\bbad zipfile offset\b",
    ),
    # Package managers: what cannot be solved, what lies there broken.
    rule(
        "exception",
        FATAL,
        "no solution found|unsatisfiable|corrupted. |version solving|packages are incompatible",
        r"^\s{0,6}(?:[x\u00d7] |error: )no solution found\b|\b(?:requirements|dependencies) are unsatisfiable\b|\bappears to be corrupted\. |"
        r"\bversion solving failed\b|^the following packages are incompatible\b",
        rf"{SURVIVED}|\bre-?(?:download|build|creat|generat|fetch)",
    ),
    # An object store's answer, as XML.
    rule("exception", FATAL, "<code>", r"(?-i:<Code>[A-Z][A-Za-z]{4,60}</Code>)"),
    # The C library's last word behind what could not be done.
    rule(
        "exception",
        FATAL,
        "unable to|cannot|could not|failed to",
        r"^\s?(?:[\w./-]{1,40}: )?(?:unable to|cannot|could not|failed to) [a-z]{3,16} .{1,300}: (?:invalid cross-device link|operation not permitted|"
        r"input/output error|device or resource busy|exec format error|file too large|too many links|structure needs cleaning|"
        r"read-only file system|text file busy|too many levels of symbolic links|file name too long|remote I/O error)\s*$",
        rf"{COPED}|^(?:rm|mv|ls|mkdir|rmdir|ln|find|chmod|chown|du|touch): ",
    ),
)
