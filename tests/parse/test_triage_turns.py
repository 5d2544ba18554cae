"""Ends told by the form of their sentence. No name in these lines is one: they are all made up, beside their innocent twins."""

from __future__ import annotations

import pytest

from gpu_tui.parse.triage import triage

ALARMS = r"""
# not done, by another turn of phrase
exception|Was not able to wibble the frobnicator: 3 quuxes left
exception|did not manage to open zork.bin
exception|zorkd did not manage to bind 10.0.0.7:99
exception|wibble 3 is not able to reach stage /a/b
exception|the frob failed to wibble 'zork'
# failed, without that word
exception|Conda environment creation did not succeed.
exception|frobnication of shard 7 was unsuccessful: bad quux
exception|LAUNCH INFO 2031-12-09 01:04:51,548 Pod went wrong
exception|Wibbling frob: went wrong
exception|job zork_7 ended in failure
exception|Failed wibbling the frob
exception|Problem frobbing zork.bin
exception|Failure while wibbling zork.bin
exception|  ├─▶ error wibbling a zork from its frob
# who is gone
exception|2031-08-25T01:58:23,447 [INFO ] W-9000-wibble ZORK_LOG - Backend worker process died.
exception|2031-01-21 14:27:55 WARNING zork.py:975 -- worker exited unexpectedly
exception|the scheduler went down
exception|zork quit with exit code: 46
exception|wibble-1 finished with code 139
exception|wibble closed the frob and stopped unexpectedly
exception|The wibbled exited immediately because the zork of it is gone
network|ZORK has lost wibblication with a remote frob
network|node n3 dropped connection
# what was late
hang|wibble 3 did not respond in time
hang|frob /a/b exceeded its deadline
hang|zork: timeout expired after 300 s
# what was given back, or does not fit
exception|[zork@n35] wibble_frob (./a/b.c:76): callback returned error status
exception|╰─▶ Hash mismatch for `wibble-zork==1.2`
exception|ZORK_ASSERT: wibble.cpp/frob.cu:48: (zorks & 1) == 0
exception|wibble_small(): malformed frob
exception|called `Zork::frob()` on a `None` value
exception|Wibble outputs failed validation
killed|WARNING:wibble.api:Sending process 30011 zorking signal SIGTERM
# behind the tag of a logger that nobody knows
exception|[wibble] [zork] Error frobbing job 3
killed|[03:04:05] wibble.zork | Killed
preempted|2031-01-02 03:04:05,678 [wibble] srun: Terminating job step 31.0
exception|wibble[1234]: zork: error: the following arguments are required: --frob
exception|wibble.zork.Frob: sbatch: error: invalid partition specified: gpu
exception|[2031-01-02 03:04:05] (zork.py:12): KilledWorker: ('a', 'tcp://127.0.0.1:43281')
"""

CALM = r"""
That means the method failed to converge for n = 3, hence the series diverges.
* "zork mv" failed to refresh the cached frob of /a/b
When "zork push" failed to update any frobs, the client side did not care (3).
Find out what went wrong: see /a/b/zork.log
If the job did not succeed, look at /a/b/zork.log
the attack was unsuccessful: 3 of 7
wibble 3 was not able to reach /a/b, retrying
INFO wibble 3 was not able to find /a/b
WARNING: worker exited unexpectedly, restarting
zork finished with code 0
request completed with status 200
wibble did not respond in time, trying again
the frob returned error 0
[357.3626] alphabet mismatch: chars in validation set only: {'x'} (not trained)
Socket between submit and execute hosts closed unexpectedly
sending SIGTERM when mem <= 50 % and swap <= 10 %,
[INFO] [zork] Error frobbing job 3, retrying
[2031-10-08T13:33:41.016] error: NOTE: Trying backup state save file. Reservations may be lost
[DEBUG] Could not find zork.bin
[wibble] [WARN] zork: error: frob 3 not there
the agent died in room 3
[process] process died, will respawn
"""


@pytest.mark.parametrize(
    "row", [row for row in ALARMS.split("\n") if row and row[0] != "#"], ids=str
)
def test_the_sentence_tells_the_end(row: str) -> None:
    label, line = row.split("|", 1)
    mark = triage(line)
    assert (mark.label, mark.alarm) == (label, True)


@pytest.mark.parametrize("line", [line for line in CALM.split("\n") if line], ids=str)
def test_its_innocent_twin_is_quiet(line: str) -> None:
    assert not triage(line).alarm
