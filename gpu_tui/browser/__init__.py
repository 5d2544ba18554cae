"""What a browser is given by `gpu-tui serve`: a page and its style, nothing from anywhere else."""
