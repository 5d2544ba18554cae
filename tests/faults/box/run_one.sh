#!/bin/sh
# Trains one cell into its own log. usage: run_one.sh CONFIG TASK EPOCHS
here=$(dirname "$0")
name=$(basename "$1" .yaml)
exec "$PYTHON" -u "$here/train_by_fifo.py" --config "$1" --epochs "$3" >"$HOME/logs/$name.log" 2>&1
