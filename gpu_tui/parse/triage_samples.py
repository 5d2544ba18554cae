"""One picture, clip or record of many that could not be read: the loader skips it or takes another, the run goes on.

These rows stand before every end. An exception by its name, or a failed check, is none of them: nobody caught it.
"""

from __future__ import annotations

from gpu_tui.parse.triage_rule import WARN, Rule, rule

_MEDIA = (
    r"\.(?:jpe?g|png|webp|bmp|gif|tiff?|heic|wav|flac|mp3|ogg|opus|m4a|mp4|avi|mkv|mov|webm|dcm)\b"
)
_ONE = (
    r"(?:images?|img|pictures?|photos?|frames?|masks?|videos?|clips?|audios?|audio files?|recordings?|samples?|"
    r"utterances?|annotations?|captions?|thumbnails?)"
)
_READ = (
    r"(?:load|read|open|decod|process|pars|fetch|download|resiz|augment|transform|imread)\w{0,4}"
)
_NOT = (
    r"(?:fail(?:ed|ure|s)?(?: to)?|could(?: not|n.t)|cannot|can ?not|can.t|unable to|error(?: while| when| in)?|"
    r"problem)"
)

SAMPLES: tuple[Rule, ...] = (
    rule(
        "warning",
        WARN,
        "fail|could|cannot|can not|can't|unable|error|problem|bad |corrupt",
        rf"\b{_NOT}\b.{{0,12}}\b{_READ}\b.{{0,200}}{_MEDIA}|\b{_ONE}\b.{{0,200}}{_MEDIA}.{{0,24}}\b{_NOT}\b|"
        rf"\b{_NOT}\b.{{0,12}}\b{_READ} (?:the )?(?:\w{{2,12}} )?{_ONE}\b(?: file)?(?: (?:id|idx|index|no\.?|number|with id))?"
        rf"\W{{0,4}}(?:\d|\S{{1,120}}/\S{{1,120}}\d)|\b(?:img|image|sample|clip|frame) [\w.-]{{0,40}}\d[\w.-]{{0,40}} {_NOT}\b|"
        rf"\b(?:bad|corrupt(?:ed)?) {_ONE}\W{{1,4}}\S",
        r"^\W{0,4}(?:[a-z_]\w{0,40}\.){0,5}(?-i:[A-Z]\w{1,40}(?:Error|Exception)\b)|(?-i:[a-z](?:Error|Exception)\b).{0,80}"
        r"\b(?:fail|could|cannot|can.t|unable|error)|check failed|\bfatal\b|\bcritical\b|\babort|\bexit|terminat|"
        r"\ball (?:images|samples|videos)|checkpoint|\bcontainer|\bdocker|\bmodel\b|\bweights\b|state_dict|input/output|\bI/O\b|smudge error",
    ),
)
