"""The five panes: each has show(view) and its bindings."""
