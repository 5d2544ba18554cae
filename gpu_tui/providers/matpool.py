"""Matpool (矩池云): the box releases itself with matncli and the cancel token that its first process has.

The recipe is the one of Matpool's FAQ; the token is read on the box and never leaves it.
"""

from __future__ import annotations

from gpu_tui.providers.inside import Inside


class Matpool(Inside):
    """Matpool, from inside the box."""

    verb = "停止并释放"
    look = "Look at 矩池云 → 我的机器 (https://matpool.com/user/matbox): only its list shows that the bill ended."
    presence = """\
[ -x /public/script/matncli ] || exit 127
[ -n "$(tr '\\0' '\\n' </proc/1/environ | sed -n 's/^MATCLOUD_CANCELTOKEN=//p')" ] || exit 126
"""
    script = """\
[ -x /public/script/matncli ] || exit 127
token=$(tr '\\0' '\\n' </proc/1/environ | sed -n 's/^MATCLOUD_CANCELTOKEN=//p')
[ -n "$token" ] || exit 126
MATCLOUD_CANCELTOKEN=$token exec /public/script/matncli node cancel -url https://matpool.com/api/public/node
"""
