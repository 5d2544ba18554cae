#!/bin/sh
# Trains one cell, then copies its artifacts to the durable directory.
# usage: TRAINER=... PYTHON=... run_one.sh CONFIG TASK EPOCHS
name=$(basename "$1" .yaml)
"$PYTHON" -u "$TRAINER" --config "$1" --epochs "$3" >"$HOME/logs/$name.log" 2>&1 || exit $?
if [ -f "$HOME/ckpt/$name/best.pth" ] && [ -f "$HOME/ckpt/$name/best_metrics.json" ]; then
    mkdir -p "$HOME/durable/$name"
    cp "$HOME/ckpt/$name/best.pth" "$HOME/ckpt/$name/best_metrics.json" "$HOME/durable/$name/"
    echo "[$(date '+%H:%M:%S')] synced $name to durable storage ($HOME/durable)"
else
    echo "[$(date '+%H:%M:%S')] !! DURABLE SYNC BLOCKED for $name — best.pth or best_metrics.json is missing."
    exit 2
fi
