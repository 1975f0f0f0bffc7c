"""Drives the real `conclave`: processes, their output as it comes, pseudo-terminals, places to work in.

A test waits for an event (a line, the end of a process, a line in a file), never for a time to pass. The one
limit is HANG: nothing takes that long unless it hangs.
"""

import fcntl
import json
import os
import pathlib
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

HANG = 120.0
NS = 1_000_000_000


def binary():
    """The command under test: the first argument of the test script, taken away from unittest."""
    return os.path.abspath(sys.argv.pop(1))


def boot_ns():
    """The clock that the command stamps its lines with."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def clean_environment(**extra):
    """Ours without what would speak to the command; a variable that is None is left out."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("CONCLAVE_")}
    environment.update({name: str(text) for name, text in extra.items() if text is not None})
    for name in [name for name, text in extra.items() if text is None]:
        environment.pop(name, None)
    return environment


def eventually(holds, what, limit=HANG):
    """For what nobody tells of, such as a file in /proc: looks until it holds."""
    until = time.monotonic() + limit
    while not holds():
        if time.monotonic() > until:
            raise AssertionError(f"never came: {what}")
        time.sleep(0.005)


class Reader:
    """The lines of a descriptor, in order, each within the hang guard."""

    def __init__(self, descriptor, name):
        self.descriptor, self.name = descriptor, name
        self.rest, self.lines, self.taken, self.closed = b"", [], 0, False
        os.set_blocking(descriptor, False)

    def pump(self):
        """Reads what has come. A terminal whose other side is gone says EIO."""
        while not self.closed:
            try:
                data = os.read(self.descriptor, 65536)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self.closed = True
            self.rest += data
            *whole, self.rest = self.rest.split(b"\n")
            self.lines += [line.decode(errors="replace") for line in whole]

    @property
    def text(self):
        return "".join(line + "\n" for line in self.lines) + self.rest.decode(errors="replace")

    def wait_more(self, until):
        """True when something came or it was closed, false when the time was over."""
        if self.closed:
            return False
        ready, _, _ = select.select([self.descriptor], [], [], max(0.0, until - time.monotonic()))
        self.pump()
        return bool(ready)

    def wait_text(self, wanted, limit=HANG):
        """Until all that came contains it; also within a line that has not ended."""
        until = time.monotonic() + limit
        self.pump()
        while wanted not in self.text:
            if not self.wait_more(until):
                raise AssertionError(f"{self.name} did not say {wanted!r}; it said:\n{self.text}")
        return self.text

    def next(self, limit=HANG):
        """The next line; None at the end of the output."""
        until = time.monotonic() + limit
        self.pump()
        while self.taken == len(self.lines):
            if self.closed:
                return None
            if not self.wait_more(until):
                raise AssertionError(f"{self.name} says no more; it said:\n{self.text}")
        self.taken += 1
        return self.lines[self.taken - 1]

    def until(self, fits, limit=HANG):
        """The next line that fits: a function of the line, or a text that it contains."""
        wanted = fits if callable(fits) else lambda line: fits in line
        until = time.monotonic() + limit
        while True:
            line = self.next(max(0.0, until - time.monotonic()))
            if line is None:
                raise AssertionError(f"{self.name} ended without {fits!r}; it said:\n{self.text}")
            if wanted(line):
                return line

    def json(self, limit=HANG):
        line = self.next(limit)
        return None if line is None else json.loads(line)

    def event(self, kind, limit=HANG, **fields):
        """The next JSON line with that event and those fields."""

        def fits(line):
            found = json.loads(line)
            return found["event"] == kind and all(found.get(name) == value for name, value in fields.items())

        return json.loads(self.until(fits, limit))

    def all_json(self):
        self.pump()
        return [json.loads(line) for line in self.lines]


class Process:
    """One started process. `out` and `err` are Readers; on a terminal both are one."""

    def __init__(self, arguments, environment, terminal=None, **more):
        self.arguments = arguments
        if terminal:
            ours, theirs = pty.openpty()
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *terminal, 0, 0))
            self.popen = subprocess.Popen(arguments, env=environment, stdin=theirs, stdout=theirs, stderr=theirs,
                                          start_new_session=True,
                                          preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), **more)
            os.close(theirs)
            self.out = self.err = Reader(ours, f"{arguments} on a terminal")
        else:
            self.popen = subprocess.Popen(arguments, env=environment, stdin=subprocess.DEVNULL,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
            self.out = Reader(self.popen.stdout.fileno(), f"stdout of {arguments}")
            self.err = Reader(self.popen.stderr.fileno(), f"stderr of {arguments}")
        self.pid = self.popen.pid

    def send(self, number):
        """To this process only, and only while it has not been waited for."""
        if self.popen.poll() is None:
            os.kill(self.pid, number)

    def type(self, text):
        """Keys, on a terminal."""
        os.write(self.out.descriptor, text.encode())

    def wait(self, limit=HANG):
        """Its exit code, minus the signal if one ended it; what it wrote is in out.text and err.text."""
        until = time.monotonic() + limit
        readers = {self.out.descriptor: self.out, self.err.descriptor: self.err}
        ended = os.pidfd_open(self.pid) if self.popen.returncode is None else None
        try:
            while ended is not None:  # reads meanwhile: a full pipe would keep it from ending
                open_ones = [fd for fd, reader in readers.items() if not reader.closed]
                ready, _, _ = select.select([ended, *open_ones], [], [], max(0.0, until - time.monotonic()))
                if not ready:
                    raise AssertionError(f"{self.arguments} does not end; it said:\n{self.out.text}{self.err.text}")
                for fd in open_ones:
                    readers[fd].pump()
                if ended in ready:
                    break
        finally:
            if ended is not None:
                os.close(ended)
        code = self.popen.wait()
        for reader in readers.values():
            reader.pump()
        return code

    def close(self):
        """Ended by its pid, whatever state it is in."""
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGKILL)
            self.popen.wait()
        for stream in (self.popen.stdout, self.popen.stderr):
            if stream:
                stream.close()
        if self.popen.stdout is None:
            os.close(self.out.descriptor)


class Case(unittest.TestCase):
    """A test with a folder and a store of its own; whatever it started is ended with it."""

    command = None  # set once: Case.command = binary()
    lease = "1s"

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="conclave-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.store = f"file:{self.folder}/store"

    def lead_store_to(self, target):
        """The store's folder is a link from now on, to that folder. To itself, no call for it succeeds."""
        link = self.folder / "link"
        link.symlink_to(target)
        os.replace(link, self.folder / "store")  # at one stroke: nobody finds it missing

    def start(self, *arguments, terminal=None, environment=None, **more):
        """`conclave ARGUMENTS`. terminal: (rows, columns) of a pseudo-terminal to run it on."""
        process = Process([self.command, *map(str, arguments)], clean_environment(**(environment or {})),
                          terminal, **more)
        self.addCleanup(process.close)
        return process

    def ask(self, *arguments, limit=HANG, **more):
        """The same, to its end: (exit code, stdout, stderr)."""
        process = self.start(*arguments, **more)
        code = process.wait(limit)
        return code, process.out.text, process.err.text

    def join(self, election="e", *more, identity=None, lease=None, **rest):
        """A candidate that prints JSON lines."""
        named = ["--id", identity] if identity else []
        return self.start("join", "--json", "--store", self.store, "--election", election,
                          "--lease", lease or self.lease, *named, *more, **rest)

    def assert_refused(self, done, code, *words):
        """One sentence on stderr, and that exit code."""
        got, out, err = done
        self.assertEqual(got, code, err)
        self.assertEqual(out, "")
        self.assertTrue(err.startswith("conclave: "), err)
        self.assertEqual(err.count("\n"), 1, err)
        for word in words:
            self.assertIn(word, err)
