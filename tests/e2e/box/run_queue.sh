#!/bin/sh
# Runs the cells of a queue file one after another and logs each start and end.
# usage: run_queue.sh QUEUE_FILE [START_INDEX]
queue=$1
start=${2:-1}
here=$(dirname "$0")
host=$(hostname)
stamp() { date '+%Y-%m-%d %H:%M:%S'; }
total=$(grep -vc '^[[:space:]]*\(#.*\)\{0,1\}$' "$queue")
echo "=== Queue $queue: $total ablations, starting from $start on $host ==="
echo ================================================================
index=0
failed=
count=0
while read -r config task epochs rest <&3; do
    case $config in '' | \#*) continue ;; esac
    index=$((index + 1))
    [ "$index" -lt "$start" ] && continue
    name=$(basename "$config" .yaml)
    echo "[$(stamp)] [$index/$total] STARTING $name ($task, ${epochs:-20}ep)"
    "$here/run_one.sh" "$config" "$task" "${epochs:-20}" 3<&-
    code=$?
    echo "[$(stamp)] [$index/$total] FINISHED $name (exit=$code)"
    [ "$code" -eq 0 ] || { failed="$failed $name"; count=$((count + 1)); }
done 3<"$queue"
if [ "$count" -eq 0 ]; then
    echo "[$(stamp)] === QUEUE DONE on $host -- all $total cell(s) exited 0 ==="
else
    echo "[$(stamp)] === QUEUE DONE on $host -- $count cell(s) FAILED:$failed ==="
    exit 1
fi
