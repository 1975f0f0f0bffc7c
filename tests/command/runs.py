"""`conclave run` under test: the job, its family and the processes that keep it."""

import ctypes
import fcntl
import os
import pathlib
import select
import signal
import struct
import sys
import termios

from driver import HANG, Case, Process, boot_ns, clean_environment, eventually

JOB = str(pathlib.Path(__file__).with_name("job.py"))


def wait_until_gone(pid, limit=HANG):
    """Until a process that need not be ours has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if not select.select([descriptor], [], [], limit)[0]:
            raise AssertionError(f"process {pid} does not end")
    finally:
        os.close(descriptor)


def stat_of(pid):
    """The fields of /proc/PID/stat after the name: state, parent, group, session, ..."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def children_of(parent):
    """Living and dead ones."""
    found = []
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            if stat_of(pid)[1] == str(parent):
                found.append(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def open_files(pid):
    """(path below /proc, what it is) of all but the standard ones."""
    found = []
    for each in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            if int(each.name) > 2:
                found.append((each, os.readlink(each)))
        except FileNotFoundError:
            pass
    return found


class Openings:
    """Tells whether a file was opened, which also its execution does: a process may be killed before it speaks."""

    def __init__(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        in_open = 0x20
        if libc.inotify_add_watch(self.descriptor, os.fsencode(path), in_open) < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch")

    def any_since(self):
        """Since it was asked before."""
        try:
            return bool(os.read(self.descriptor, 65536))
        except BlockingIOError:
            return False

    def close(self):
        os.close(self.descriptor)


def stop_after_fork(pid, let):
    """Stops a process at the instant when its main thread has made a child, which goes on; calls let() when the
    fork may come. Says when it was stopped; None where tracing is not allowed."""
    seize, options, detach, fork_event, any_child = 0x4206, 1 << 1, 17, 1, 0x40000000
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if libc.ptrace(seize, pid, None, options) != 0:
        return None
    let()
    seen = []

    def forked():
        seen[:] = os.waitpid(pid, any_child | os.WNOHANG)
        return seen[0]

    eventually(forked, "a fork")
    assert seen[1] >> 8 == signal.SIGTRAP | fork_event << 8, seen
    os.kill(pid, signal.SIGSTOP)  # takes effect as soon as it is not traced
    stopped = boot_ns()
    [child] = children_of(pid)
    os.waitpid(child, any_child)
    libc.ptrace(detach, child, None, None)
    libc.ptrace(detach, pid, None, None)
    return stopped


class Run:
    """One `conclave run` with the job, which has told its pid."""

    def __init__(self, process):
        self.process, self.front = process, process.pid
        self.job = self.term = self.keeper = self.guardian = None
        self.relatives = []

    def wait_start(self, relatives=0):
        """Until the job runs and its relatives have told their pids."""
        self.relatives = []
        line = None
        while line is None or len(self.relatives) < relatives:
            words = self.process.out.until(lambda text: text.split()[0] in ("start", "relative")).split()
            if words[0] == "start":
                line = words
            else:
                self.relatives.append(int(words[1]))
        self.job, self.term = int(line[1]), int(line[2])
        self.keeper = int(stat_of(self.job)[1])
        return self.wait_companions()

    def wait_companions(self):
        """Until the three processes are there."""
        def found():
            names = {self.name_of(pid): pid for pid in children_of(self.front)}
            self.guardian = names.get("conclave-guard")
            if self.guardian and not self.keeper:
                self.keeper = names[self.name_of(self.front)]
            return self.guardian
        eventually(found, "a keeper and its guardian")
        return self

    def wait_ready(self):
        """Until it takes signals; from the outside it then only waits."""
        def blocks_sigterm():
            status = pathlib.Path(f"/proc/{self.front}/status").read_text()
            return int(status.partition("SigBlk:")[2].split()[0], 16) >> (signal.SIGTERM - 1) & 1
        eventually(blocks_sigterm, "a front that takes signals")
        return self

    def passed_on(self):
        """How many signals the front has passed on that the keeper has not taken."""
        theirs = {name for _, name in open_files(self.front)}
        [control] = [path for path, name in open_files(self.keeper) if name.startswith("pipe:") and name in theirs]
        descriptor = os.open(control, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4))[0]
        finally:
            os.close(descriptor)

    @staticmethod
    def name_of(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
        except (FileNotFoundError, ProcessLookupError):
            return ""

    def family(self):
        return [self.job, *self.relatives]


class RunCase(Case):
    def setUp(self):
        super().setUp()
        self.log = self.folder / "log"

    def run_job(self, *words, options=(), through=(), **more):
        """`conclave run` of the job, in the test's election. through: what executes it in its own place."""
        line = ["run", "--store", self.store, "--election", "jobs", "--lease", self.lease, *options,
                "--", sys.executable, JOB, str(self.log), *words]
        if through:
            process = Process([*through, self.command, *line], clean_environment(), **more)
            self.addCleanup(process.close)
        else:
            process = self.start(*line, **more)
        run = Run(process)
        self.addCleanup(self.continue_all, run)  # before the front is killed: nobody is left stopped
        return run

    @staticmethod
    def continue_all(run):
        if run.process.popen.poll() is None:
            for pid in filter(None, (run.keeper, run.guardian, run.front)):
                try:
                    os.kill(pid, signal.SIGCONT)
                except ProcessLookupError:
                    pass

    def stamps(self):
        """term -> (first, last) instant of which anybody of its family wrote."""
        found = {}
        for line in self.log.read_text().splitlines():
            term, _, stamp = map(int, line.split())
            first, last = found.get(term, (stamp, stamp))
            found[term] = (min(first, stamp), max(last, stamp))
        return found

    def assert_no_overlap(self, terms):
        """So many terms had a family, each only after all of the one before was dead."""
        found = sorted(self.stamps().items())
        self.assertEqual(len(found), terms, found)
        for (earlier, (_, end)), (later, (begin, _)) in zip(found, found[1:]):
            self.assertLess(end, begin, f"terms {earlier} and {later} overlap")

    def assert_gone(self, pids):
        for pid in pids:
            wait_until_gone(pid)
