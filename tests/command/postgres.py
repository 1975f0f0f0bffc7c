"""A PostgreSQL server for the tests of one script, on a socket of its own: nobody else has its address.

    setUpModule, tearDownModule = servers()
    class Faults(OnPostgres): mode = "lease"
"""

import contextlib
import itertools
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

from driver import HANG, Case, eventually
from runs import children_of, stat_of

PROGRAMS = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name),
               default=pathlib.Path(os.path.dirname(shutil.which("postgres") or "")))
SMALL = ("shared_buffers=4MB", "dynamic_shared_memory_type=mmap", "autovacuum=off", "jit=off")
QUICK = ("fsync=off", "full_page_writes=off")  # doctor warns of it


def unprivileged(*line):
    """It refuses to run as root. In any case it dies with the test."""
    before = ["setpriv", "--pdeathsig=KILL"]
    if os.geteuid() == 0:
        before += [f"--reuid={account()}", f"--regid={account()}", "--clear-groups"]
    return [*before, "--", *map(str, line)]


def account():
    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
            return name
        except KeyError:
            pass
    raise AssertionError("neither a user postgres nor a user nobody, and root may not run PostgreSQL")


class Server:
    def __init__(self, settings=QUICK, access=""):
        """`access` comes before the lines of pg_hba.conf that let everybody in."""
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="conclave-postgres-"))
        if os.geteuid() == 0:
            shutil.chown(self.folder, account())
        data = self.folder / "data"
        subprocess.run(unprivileged(PROGRAMS / "initdb", "--no-sync", "--auth=trust", "--username=conclave",
                                    "--encoding=UTF8", "--locale=C", "--wal-segsize=1", "--pgdata", data),
                       check=True, stdout=subprocess.DEVNULL, cwd="/")
        rules = data / "pg_hba.conf"
        rules.write_text(access + rules.read_text())
        where = ("listen_addresses=", f"unix_socket_directories={self.folder}")
        settings = [word for each in (*where, *SMALL, *settings) for word in ("-c", each)]
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(unprivileged(PROGRAMS / "postgres", "-D", data, *settings),
                                            stdout=log, stderr=log, cwd="/")
        self.numbers = itertools.count(1)
        eventually(self.ready, "a PostgreSQL that is ready", HANG)

    def ready(self):
        """As pg_ctl looks at it."""
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            lines = (self.folder / "data/postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) >= 8 and lines[7].startswith("ready")

    def psql(self, text, database="postgres", user="conclave"):
        line = ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1",
                "--host", str(self.folder), "--username", user, "--dbname", database]
        return subprocess.run(line, input=text, capture_output=True, text=True, cwd="/", timeout=HANG)

    def sql(self, text, database="postgres"):
        """The one value, or nothing."""
        done = self.psql(text, database)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def new_database(self):
        name = f"test{next(self.numbers)}"
        self.sql(f"create database {name}")
        return name

    def url(self, database, user="conclave"):
        return f"postgres://{user}@/{database}?host={self.folder}"

    def pause(self):
        """All its processes stand still; who makes new ones first."""
        self.strike(signal.SIGSTOP, self.process.pid)
        eventually(lambda: stat_of(self.process.pid)[0] == "T", "a server that stands still")
        self.strike(signal.SIGSTOP, *children_of(self.process.pid))

    def resume(self):
        self.strike(signal.SIGCONT, *children_of(self.process.pid), self.process.pid)

    @staticmethod
    def strike(number, *pids):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                os.kill(pid, number)

    def close(self):
        self.process.send_signal(signal.SIGQUIT)
        self.resume()
        self.process.wait(HANG)
        shutil.rmtree(self.folder)


class Pooler:
    """PgBouncer in transaction mode before a server."""

    def __init__(self, server):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="conclave-pgbouncer-"))
        file = self.folder / "pgbouncer.ini"
        file.write_text(f"[databases]\n* = host={server.folder} user=conclave\n[pgbouncer]\nlisten_addr =\nauth_type = any\n"
                        f"unix_socket_dir = {self.folder}\nlisten_port = 6432\npool_mode = transaction\n")
        if os.geteuid() == 0:
            for each in (self.folder, file):
                shutil.chown(each, account())
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(unprivileged(shutil.which("pgbouncer"), file), stdout=log, stderr=log, cwd="/")
        eventually(self.ready, "a PgBouncer that listens", HANG)

    def ready(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        return (self.folder / ".s.PGSQL.6432").exists()

    def url(self, database, user="conclave"):
        return f"postgres://{user}@/{database}?host={self.folder}&port=6432"

    def close(self):
        self.process.kill()
        self.process.wait(HANG)
        shutil.rmtree(self.folder)


def servers():
    """(setUpModule, tearDownModule) of a script whose tests share one."""
    def start():
        OnPostgres.server = Server()

    def end():
        OnPostgres.server.close()

    return start, end


class OnPostgres(Case):
    """A test with a database of its own."""

    server = None
    mode = "advisory"

    def setUp(self):
        super().setUp()
        self.database = self.server.new_database()
        self.store = f"{self.server.url(self.database)}&mode={self.mode}"
