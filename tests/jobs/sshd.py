"""Runs an sshd for the tests of this folder. It listens on two addresses of the loopback interface, which stand for
two hosts. Its keys and settings are in a temporary folder, and neither it nor ssh reads ~/.ssh or /etc/ssh."""
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

HOSTS = ("127.0.0.1", "127.0.0.2")
PATIENCE = 60
SETTINGS = """
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile none
UsePAM no
StrictModes no
PermitUserRC no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxStartups 1000
"""


class Sshd:
    def __init__(self):
        search = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
        program = shutil.which("sshd", path=search)  # sshd must be called by its full path
        if program is None or shutil.which("ssh") is None:
            raise unittest.SkipTest("sshd and ssh are not installed")
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)  # an sshd of root does not start without it
        self.process = None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wireproof-sshd-"))
        try:
            self.make_keys()
            self.start(program)
        except BaseException:
            self.close()
            raise

    def make_keys(self):
        for name in ("host_key", "user_key"):
            subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name), check=True)
        shutil.copy(self.folder / "user_key.pub", self.folder / "authorized_keys")

    def start(self, program):
        with socket.socket() as probe:
            probe.bind((HOSTS[0], 0))
            port = probe.getsockname()[1]
        addresses = "".join(f"ListenAddress {host}:{port}\n" for host in HOSTS)
        settings = self.folder / "sshd_config"
        settings.write_text(addresses + SETTINGS.format(folder=self.folder))
        self.log = self.folder / "log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen((program, "-D", "-e", "-f", settings), stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log)
        end = time.monotonic() + PATIENCE
        while self.log.read_text().count("Server listening") < len(HOSTS):
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"sshd does not start: {self.log.read_text()}")
            time.sleep(0.01)
        options = ("BatchMode=yes", "IdentitiesOnly=yes", "IdentityAgent=none", "StrictHostKeyChecking=no",
                   "UserKnownHostsFile=/dev/null", "GlobalKnownHostsFile=/dev/null", "LogLevel=ERROR")
        # A command for wireproof launch --ssh.
        self.ssh = " ".join((f"ssh -F /dev/null -p {port} -i {self.folder}/user_key",
                             *(f"-o {option}" for option in options)))

    def close(self):
        if self.process is not None:
            self.process.terminate()
            self.process.wait(PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)
