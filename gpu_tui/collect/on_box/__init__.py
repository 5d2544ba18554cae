"""The sampler for a box that has a python: the modules of this folder are sent to it, as one text.

It says the same in the same frames as the sh program in `collect.program`, for less. One loop reads
small files of the kernel on each beat and starts nvidia-smi; the process table, which may hang, has a
thread of its own. All else is asked by sh as elsewhere: a shell for each lane, which waits for a line on
its stdin, does a round, and says so.

Python 3.8 runs it, and 3.6 must understand it as far as to say no: types that are younger stand in
quotes. Nothing but the standard library is there, nothing is installed, and no file is written.
"""
