"""The programs a simulated box brings itself, as POSIX sh and awk: nvidia-smi and df.

nvidia-smi answers the fields it is asked for from the box's state, in the words and exit codes of the
real program. df counts the box's own files and bytes and holds them against the box's quota.
"""

from __future__ import annotations

# Names that real programs from 418 on know; a name that the state lacks answers "[N/A]".
KNOWN_FIELDS = """
timestamp driver_version count name gpu_name serial gpu_serial uuid gpu_uuid index pstate
pci.bus_id gpu_bus_id pci.domain pci.bus pci.device pci.device_id pci.sub_device_id
pcie.link.gen.current pcie.link.gen.max pcie.link.width.current pcie.link.width.max
display_mode display_active persistence_mode accounting.mode compute_mode compute_cap vbios_version
fan.speed memory.total memory.used memory.free memory.reserved utilization.gpu utilization.memory
temperature.gpu temperature.memory power.management power.draw power.draw.instant
power.draw.average power.limit enforced.power.limit power.default_limit power.min_limit
power.max_limit clocks.gr clocks.sm clocks.mem clocks.video clocks.current.graphics
clocks.current.sm clocks.current.memory clocks.current.video clocks.max.gr clocks.max.graphics
clocks.max.sm clocks.max.mem clocks.max.memory mig.mode.current mig.mode.pending
ecc.mode.current ecc.mode.pending ecc.errors.corrected.volatile.total
ecc.errors.corrected.aggregate.total ecc.errors.uncorrected.volatile.total
ecc.errors.uncorrected.aggregate.total retired_pages.sbe retired_pages.dbe retired_pages.pending
clocks_throttle_reasons.supported clocks_throttle_reasons.active clocks_throttle_reasons.gpu_idle
clocks_throttle_reasons.applications_clocks_setting clocks_throttle_reasons.sw_power_cap
clocks_throttle_reasons.hw_slowdown clocks_throttle_reasons.hw_thermal_slowdown
clocks_throttle_reasons.hw_power_brake_slowdown clocks_throttle_reasons.sw_thermal_slowdown
clocks_throttle_reasons.sync_boost clocks_event_reasons.supported clocks_event_reasons.active
clocks_event_reasons.gpu_idle clocks_event_reasons.applications_clocks_setting
clocks_event_reasons.sw_power_cap clocks_event_reasons.hw_slowdown
clocks_event_reasons.hw_thermal_slowdown clocks_event_reasons.hw_power_brake_slowdown
clocks_event_reasons.sw_thermal_slowdown clocks_event_reasons.sync_boost
gpu_name pid process_name used_gpu_memory used_memory
"""

# What runs jobs on the person's own machine must not show up on a simulated box.
NOT_HERE = ("tsp", "pueue", "tmux", "kubectl", "squeue")
NOTHING_RUNS = "#!/bin/sh\necho 'nothing runs here' >&2\nexit 1\n"

NVIDIA_SMI = r"""#!/bin/sh
# A simulated card's nvidia-smi: reads the table its box keeps. Rows: names, units, one per card.
state='@STATE@'
if [ -f "$state/gpu_error" ]; then
    code=$(head -n 1 "$state/gpu_error")
    tail -n +2 "$state/gpu_error"
    exit "$code"
fi
query='' table='' header=1 units=1 list=0
while [ $# -gt 0 ]; do
    case $1 in
        --query-gpu=*) table=gpu.tsv query=${1#*=} ;;
        --query-compute-apps=*) table=apps.tsv query=${1#*=} ;;
        --format=*)
            case $1 in *noheader*) header=0 ;; esac
            case $1 in *nounits*) units=0 ;; esac ;;
        -L | --list-gpus) list=1 ;;
        *)
            printf 'Invalid combination of input arguments. Please run '\''nvidia-smi -h'\'' for help.\n\n'
            exit 1 ;;
    esac
    shift
done
if [ "$list" = 1 ]; then
    query=index,name,uuid table=gpu.tsv
elif [ -z "$table" ]; then
    query=index,name,temperature.gpu,power.draw,memory.used,memory.total,utilization.gpu table=gpu.tsv
fi
exec awk -F '\t' -v query="$query" -v header="$header" -v units="$units" -v list="$list" \
    -v stamp="$(date '+%Y/%m/%d %H:%M:%S.000')" -v known='@KNOWN@' '
BEGIN { n = split(query, ask, ","); m = split(known, word, " "); for (i = 1; i <= m; i++) valid[word[i]] = 1
        for (i = 1; i <= n; i++) { gsub(/^ +| +$/, "", ask[i]) } }
NR == 1 { for (i = 1; i <= NF; i++) { column[$i] = i; valid[$i] = 1 }
          for (i = 1; i <= n; i++) if (!(ask[i] in valid)) {
              printf "Field \"%s\" is not a valid field to query.\n\n", ask[i]; bad = 1; exit 2 }
          next }
NR == 2 { for (i = 1; i <= NF; i++) unit[i] = $i
          if (!list && header) { line = ""
              for (i = 1; i <= n; i++) { c = column[ask[i]]
                  line = line (i > 1 ? ", " : "") ask[i] ((c && unit[c] != "") ? " [" unit[c] "]" : "") }
              print line }
          next }
list { printf "GPU %s: %s (UUID: %s)\n", $column["index"], $column["name"], $column["uuid"]; next }
{ line = ""
  for (i = 1; i <= n; i++) { c = column[ask[i]]; value = c ? $c : "[N/A]"
      if (ask[i] == "timestamp") value = stamp
      if (units && c && unit[c] != "" && value !~ /^\[/) value = value " " unit[c]
      line = line (i > 1 ? ", " : "") value }
  print line }
' "$state/$table"
"""

DF = r"""#!/bin/sh
# A simulated disk's df: counts what really lies below the mount and holds it against its quota.
# Rows of the table: mount point, type, source, KiB, inodes (- = the filesystem does not report them).
state='@STATE@' inodes=0 type=0
while [ $# -gt 0 ]; do
    case $1 in
        --) shift; break ;;
        -*[!PkiTl-]*) echo "df: invalid option -- '${1#-}'" >&2; exit 1 ;;
        -*) case $1 in *i*) inodes=1 ;; esac
            case $1 in *T*) type=1 ;; esac ;;
        *) break ;;
    esac
    shift
done
[ $# -gt 0 ] || set -- $(cut -f 1 "$state/mounts.tsv")
kind='' ; [ "$type" = 1 ] && kind=' Type'
if [ "$inodes" = 1 ]; then
    echo "Filesystem$kind Inodes IUsed IFree IUse% Mounted on"
else
    echo "Filesystem$kind 1024-blocks Used Available Capacity Mounted on"
fi
failed=0
for path in "$@"; do
    if [ ! -e "$path" ]; then
        echo "df: $path: No such file or directory" >&2
        failed=1
        continue
    fi
    case $path in /*) ;; *) path=$PWD/$path ;; esac
    row=$(awk -F '\t' -v path="$path" '
        index(path "/", $1 "/") == 1 && length($1) > best { best = length($1); row = $0 }
        END { print row }' "$state/mounts.tsv")
    if [ -z "$row" ]; then
        echo "df: $path: Permission denied" >&2
        failed=1
        continue
    fi
    mount=${row%%	*}
    LC_ALL=C ls -AlnR "$mount" 2>/dev/null | awk -v row="$row" -v inodes="$inodes" -v type="$type" '
        BEGIN { FS = "\t" } FNR == NR { other[$1] = 1; next }
        /^\/.*:$/ { dir = substr($0, 1, length($0) - 1); here = 1
                   for (m in other) if (length(m) > length(mount) && index(dir "/", m "/") == 1) here = 0
                   next }
        here && /^[-dlpsc]/ { files++; split($0, word, / +/); bytes += word[5] }
        END { split(row, r, "\t"); kind = type ? " " r[2] : ""
              if (inodes && r[5] == "-") { print r[3] kind, "0 0 0 -", r[1]; exit }
              used = inodes ? files + 1 : int((bytes + 1023) / 1024); size = inodes ? r[5] : r[4]
              if (used > size) used = size
              share = int(used * 100 / size); if (share * size < used * 100) share++
              printf "%s%s %.0f %.0f %.0f %d%% %s\n", r[3], kind, size, used, size - used, share, r[1] }
        ' mount="$mount" "$state/mounts.tsv" -
done
exit $failed
"""

HOSTNAME = """#!/bin/sh
echo '@HOST@'
"""


def quoted(text: str) -> str:
    """`text` safe between the single quotes that the templates put around it."""
    return text.replace("'", "'\\''")


def nvidia_smi(state: str) -> str:
    """The program text for a box whose state lies in the directory `state`."""
    known = " ".join(KNOWN_FIELDS.split())
    return NVIDIA_SMI.replace("@STATE@", quoted(state)).replace("@KNOWN@", known)


def df(state: str) -> str:
    """The program text for a box whose state lies in the directory `state`."""
    return DF.replace("@STATE@", quoted(state))


def hostname(name: str) -> str:
    """A `hostname` that says the box's own name."""
    return HOSTNAME.replace("@HOST@", quoted(name))
