"""An ordinary AutoDL instance: no API knows it, but its own `shutdown` is an official 关机 (a park).

https://www.autodl.com/docs/save_money/: the disks are kept, and the days to the release begin.
"""

from __future__ import annotations

from gpu_tui.providers.inside import Inside


class AutoDLBox(Inside):
    """AutoDL, from inside the box. `/root/autodl-tmp` is what only AutoDL's own images have."""

    verb = "关机"
    parks = True
    look = "Look at 控制台 → 容器实例 (https://www.autodl.com/console/instance/list): it must say 已关机."
    presence = """\
[ -x /usr/bin/shutdown ] || exit 127
[ -d /root/autodl-tmp ] || exit 126
"""
    script = """\
[ -d /root/autodl-tmp ] || exit 126
[ -x /usr/bin/shutdown ] || exit 127
exec /usr/bin/shutdown
"""
