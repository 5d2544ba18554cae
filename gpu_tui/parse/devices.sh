# Lists the device files of compute cards, of NVIDIA and other makers, for `parse_devices`. The first word of a line is
# a file below $dev; the rest, for a render node, is from sysfs. A program in PATH proves no card: images carry
# rocm-smi without one.
#
# Given: dev, sys.

list_devices() {
    for at in "$dev"/nvidia[0-9]* "$dev"/dxg "$dev"/kfd "$dev"/davinci* "$dev"/dri/renderD*; do
        [ -e "$at" ] || continue
        name=${at#"$dev"/} place=$sys/class/drm/${at##*/}
        printf '%s\n' "$name"
        case $name in dri/*) ;; *) continue ;; esac
        line=$(readlink "$place/device/driver") && printf '%s driver %s\n' "$name" "$line"
        line=$(readlink "$place/device") && printf '%s device %s\n' "$name" "$line"
        [ ! -r "$place/device/uevent" ] || while IFS= read -r line; do
            printf '%s uevent %s\n' "$name" "$line"
        done <"$place/device/uevent"
    done
} 2>/dev/null
