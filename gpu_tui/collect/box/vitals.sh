# Memory, processors and the host itself: small files of the kernel, read at each beat without starting a program.
#
# What changes seldom, or is expensive to read (the kernel adds memory.stat up over all processors), is read every few
# beats, and so is the load, which the kernel itself counts every five seconds. oom_kill is read at each beat: when it
# rose is evidence.

seldom_beats=5 limit_beats=15

find_host() {
    hostname=$(hostname || uname -n)
    machine= stat=
    read -r stat <"$proc/1/stat"
    set -- ${stat##*") "}
    [ -z "${20}" ] || machine="${20} $(readlink "$proc/self/ns/pid")"
}

# Call a function for each cgroup that limits memory, numbered from ours outwards. $level is its directory.
each_level() {
    at=0 IFS=$newline
    set -f
    for level in $levels; do
        unset IFS
        tell level "$at"
        at=$((at + 1))
        "$1"
    done
    set +f
    unset IFS
}

used_v2() {
    value v2.current "$level/memory.current"
    pick v2.events "$level/memory.events" oom_kill
}
used_v1() {
    value v1.usage "$level/memory.usage_in_bytes"
    pick v1.oom "$level/memory.oom_control" oom_kill
}
cache_v2() {
    value v2.peak "$level/memory.peak"
    pick v2.stat "$level/memory.stat" inactive_file active_file
}
cache_v1() {
    value v1.peak "$level/memory.max_usage_in_bytes"
    pick v1.stat "$level/memory.stat" total_inactive_file total_active_file
}
limits_v2() {
    level_name v2.name
    value v2.max "$level/memory.max"
    value v2.high "$level/memory.high"
}
limits_v1() {
    level_name v1.name
    value v1.limit "$level/memory.limit_in_bytes"
}
level_name() {
    name=${level#"$top"}
    tell "$1" "${name:-/}"
}

ask_memory() {
    open memory
    case $memory in
        host)
            pick meminfo "$proc/meminfo" MemTotal: MemAvailable:
            pick vmstat "$proc/vmstat" oom_kill ;;
        *) each_level "used_$memory" ;;
    esac
    close 0
    if turn "$seldom_beats"; then
        open seldom
        [ "$memory" = host ] || each_level "cache_$memory"
        close 0
        open machine
        pick meminfo "$proc/meminfo" MemTotal: MemAvailable: SwapTotal: SwapFree:
        close 0
    else
        same seldom
        same machine
    fi
    if turn "$limit_beats"; then
        open limits
        pick meminfo "$proc/meminfo" Hugetlb: # one of the last lines
        [ "$memory" = host ] || each_level "limits_$memory"
        close 0
    else
        same limits
    fi
}

ask_cpu() {
    open cpu
    case $cpu in
        v2) pick v2.stat "$cpu2/cpu.stat" usage_usec nr_periods nr_throttled ;;
        v1)
            pick v1.stat "$cpu1/cpu.stat" nr_periods nr_throttled
            value v1.usage "$acct1/cpuacct.usage" ;;
    esac
    close 0
    if turn "$seldom_beats"; then
        open seldom
        value loadavg "$proc/loadavg"
        close 0
    else
        same seldom
    fi
    if turn "$limit_beats"; then
        open limits
        value v2.max "$cpu2/cpu.max"
        value v1.quota "$cpu1/cpu.cfs_quota_us"
        value v1.period "$cpu1/cpu.cfs_period_us"
        close 0
    else
        same limits
    fi
}

ask_host() {
    open host
    now
    value uptime "$proc/uptime"
    value boot_id "$proc/sys/kernel/random/boot_id"
    tell hostname "$hostname"
    tell machine "$machine"
    close 0
}

# The first beat, before the rest of this program has come: on a far and narrow line that takes seconds.
first_look() {
    surroundings
    find_cgroups
    find_host
    beat
    n=1
}

# Is it a probe's turn? turn BEATS, counted in the beats of its lane.
turn() { [ $((n % $1)) = 0 ]; }

# One beat of the main loop. `round_box` is generated, as the rounds of all lanes are.
beat() {
    round_box
    flush
}
