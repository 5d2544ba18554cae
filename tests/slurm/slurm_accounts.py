"""Accounts for the tests' Slurm: a MariaDB and a slurmdbd of its own, in a directory of its own."""

from __future__ import annotations

import getpass
import os
import subprocess
from pathlib import Path

from ports import Port
from slurm_lab import CONF, Slurm, pause, program

DBD = """
AuthType=auth/none
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser={user}
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm
LogFile={root}/slurmdbd.log
PidFile={root}/slurmdbd.pid
"""


class AccountingSlurm(Slurm):
    """A cluster that keeps accounts, and forgets a job seconds after its end."""

    def __init__(self, root: Path) -> None:
        self._door = Port()
        conf = CONF.replace("accounting_storage/none", "accounting_storage/slurmdbd").replace(
            "MinJobAge=300", "MinJobAge=2"
        )
        host = f"AccountingStorageHost=127.0.0.1\nAccountingStoragePort={self._door.number}\n"
        super().__init__(root, conf + host)
        self._socket = root / "db.sock"
        self._books: list[subprocess.Popen[bytes]] = []
        dbd = root / "slurmdbd.conf"
        dbd.write_text(DBD.format(port=self._door.number, user=getpass.getuser(), root=root))
        dbd.chmod(0o600)

    def start(self) -> AccountingSlurm:
        """The database, its daemon, an account for us, and then the cluster."""
        data, user = self.root / "db", getpass.getuser()
        how = (f"--datadir={data}", f"--user={user}")
        subprocess.run(
            [
                *(program("mysql_install_db"), *how, "--skip-test-db"),
                "--auth-root-authentication-method=normal",
            ],
            check=True,
            capture_output=True,
        )
        small = ("--innodb-buffer-pool-size=64M", "--innodb-flush-log-at-trx-commit=0")
        words = (program("mariadbd"), "--no-defaults", *how, f"--socket={self._socket}")
        self._book([*words, "--skip-networking", f"--pid-file={self.root / 'db.pid'}", *small])
        self._ask("mariadb-admin", f"--socket={self._socket}", "-u", "root", "ping")
        self._book([program("slurmdbd"), "-D"])
        self._ask("sacctmgr", "-n", "list", "cluster")
        for row in (
            ("cluster", "lab"),
            ("account", "lab", "description=lab", "organization=lab"),
            ("user", user, "account=lab"),
        ):
            self.run("sacctmgr", "-i", "add", *row, check=False)
        super().start()
        return self

    def stop_accounts(self) -> None:
        """slurmdbd goes; the cluster runs on."""
        daemon = self._books.pop()
        daemon.terminate()
        daemon.wait(60)

    def stop(self) -> None:
        """The cluster first, its books last."""
        super().stop()
        for daemon in reversed(self._books):
            daemon.terminate()
            daemon.wait(60)
        self._books.clear()
        self._door.close()

    def _book(self, words: list[str]) -> None:
        env = {**os.environ, **self.env, "MYSQL_UNIX_PORT": str(self._socket)}
        with (self.root / "books.out").open("ab") as out:
            self._books.append(
                subprocess.Popen(
                    words,
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    start_new_session=True,
                )
            )

    def _ask(self, *words: str) -> None:
        """Until it answers."""
        for _ in range(300):
            done = subprocess.run(
                words, env={**os.environ, **self.env}, capture_output=True, check=False
            )
            if done.returncode == 0:
                return
            pause()
        raise AssertionError((self.root / "books.out").read_text(errors="replace")[-2000:])
