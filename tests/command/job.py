#!/usr/bin/env python3
"""What the tests let `conclave run` run. It writes down when it lived, for all of its family.

job.py LOG [for=SECONDS] [code=N] [fail-first=FILE] [ignore-term] [family] [env]

Lines of LOG: TERM PID CLOCK_BOOTTIME. Each is written while its process lives, so a line of a later term before
the last one of an earlier term is an overlap.
"""

import os
import signal
import sys
import time

words = dict((word.split("=") + [""])[:2] for word in sys.argv[2:])
log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
term = os.environ.get("CONCLAVE_TERM", "none")


def say(*line):
    os.write(1, (" ".join(map(str, line)) + "\n").encode())


def stamp():
    now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    os.write(log, f"{term} {os.getpid()} {now}\n".encode())


def beat(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        stamp()
        time.sleep(0.002)


def report(number, _):
    say("got", signal.Signals(number).name)


def end(number, _):
    report(number, None)
    beat(0.05)  # cleaning up takes a while
    sys.exit(int(words.get("code") or 128 + number))


def live_on():
    stamp()
    say("relative", os.getpid())
    beat(600)
    os._exit(0)


def grandchildren():
    """One of the command's group that heeds nothing, and one that has left for a session of its own."""
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        live_on()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            live_on()
        os._exit(0)


ignored = "ignore-term" in words
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, report if ignored else end)
for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH):
    signal.signal(number, report)
if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
    signal.signal(signal.SIGHUP, report)
if "family" in words:
    grandchildren()
if "env" in words:
    for name, text in sorted(os.environ.items()):
        say("env", name, text)
stamp()
say("start", os.getpid(), term)
first = words.get("fail-first")
if first and not os.path.exists(first):
    open(first, "w").close()
    sys.exit(9)
beat(float(words.get("for") or 600))
sys.exit(int(words.get("code") or 0))
