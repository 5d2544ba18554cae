# Disks: how full they are, and the mount table.

# Path, kind, rw or ro of each mount. A mount that the kernel turned read-only has a second line, with a ! in front.
mount_table() {
    open table
    [ ! -r "$proc/mounts" ] || while read -r device directory kind flags rest; do
        device=-
        case ,$flags, in
            *,emergency_ro,* | *,shutdown,*) device=! flags=ro ;;
            *,ro,*) flags=ro ;;
            *) flags=rw ;;
        esac
        [ "${#directory}" -gt 3000 ] || put ">$mark $device $directory $kind $flags"
    done <"$proc/mounts"
    [ ! -r "$proc/self/mountinfo" ] || while read -r number above device root directory flags rest; do
        rest=${rest#*- }
        case ${rest%% *}:,$flags,:${rest##* } in
            *,ro,*) ;;
            ext[234]:*:ro* | btrfs:*:ro* | xfs:*:ro* | f2fs:*:ro* | *fat:*:ro*)
                put ">$mark ! $directory ${rest%% *} ro" ;;
        esac
    done <"$proc/self/mountinfo"
    close 0
}
