# Which cgroups hold this login: where its memory and its processors are limited and counted.
#
# Given: proc, cgroup (the roots of these file systems), levels_most.

# Our own path in a hierarchy, from $proc/self/cgroup: own 2, or own CONTROLLER
own() {
    [ -r "$proc/self/cgroup" ] || return 0
    while IFS=: read -r number names path; do
        case $1:$number:,$names, in
            2:0:,, | [!2]*:*,"$1",*)
                case $path in *..* | /) ;; *) printf '%s' "$path" ;; esac
                return ;;
        esac
    done <"$proc/self/cgroup"
}

# The nearest cgroup, from ours outwards, that sets a limit in FILE, otherwise the root as it is mounted: bound ROOT OWN FILE
bound() {
    at=$2
    while :; do
        if [ -r "$1$at/$3" ] && IFS= read -r limit <"$1$at/$3"; then
            case $limit in
                '' | max* | -* | 92233720368547*) ;;
                *) printf '%s' "$1$at"; return ;;
            esac
        fi
        [ -n "$at" ] || break
        at=${at%/*}
    done
    printf '%s' "$1"
}

# Put the cgroups that limit memory, from ours outwards, into $levels; without any, the root as it is mounted.
# Fails if memory is not counted there: nested ROOT OWN USED LIMIT...
nested() {
    top=$1 above=$2 used=$3 levels= count=0
    shift 3
    while [ "$count" -lt "$levels_most" ]; do
        if [ -r "$top$above/$used" ]; then
            for file; do
                limit=
                { read -r limit <"$top$above/$file"; } 2>/dev/null
                case $limit in '' | max* | -* | 92233720368547*) continue ;; esac
                levels=$levels${levels:+$newline}$top$above
                count=$((count + 1))
                break
            done
        fi
        [ -n "$above" ] || break
        above=${above%/*}
    done
    [ -n "$levels" ] || levels=$top
    [ -r "${levels%%"$newline"*}/$used" ]
}

first_directory() {
    for at; do [ ! -d "$at" ] || break; done
    printf '%s' "$at"
}

find_cgroups() {
    cpu2=$(bound "$cgroup" "$(own 2)" cpu.max)
    cpu1=$(bound "$(first_directory "$cgroup/cpu,cpuacct" "$cgroup/cpu")" "$(own cpu)" cpu.cfs_quota_us)
    acct1=$(first_directory "$cgroup/cpu,cpuacct" "$cgroup/cpuacct")
    [ ! -r "$acct1$(own cpuacct)/cpuacct.usage" ] || acct1=$acct1$(own cpuacct)
    memory=host cpu=v1
    if nested "$cgroup" "$(own 2)" memory.current memory.max memory.high; then memory=v2
    elif nested "$cgroup/memory" "$(own memory)" memory.usage_in_bytes memory.limit_in_bytes; then memory=v1
    fi
    [ ! -r "$cpu2/cpu.stat" ] || cpu=v2
}
