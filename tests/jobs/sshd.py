"""Runs sshd for the tests of this folder: one that listens on two addresses of the loopback interface, which stand for
two hosts, or one in each of some network namespaces. Keys and settings are in a temporary folder, and neither sshd nor
ssh reads ~/.ssh or /etc/ssh."""
import os
import pathlib
import random
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

HOSTS = ("127.0.0.1", "127.0.0.2")
PATIENCE = 300  # seconds; it only catches a program that hangs
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
    def __init__(self, namespaces=None):
        """`namespaces`: by address of a host, the network namespace in which its sshd runs."""
        search = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
        program = shutil.which("sshd", path=search)  # sshd must be called by its full path
        if program is None or shutil.which("ssh") is None:
            raise unittest.SkipTest("sshd and ssh are not installed")
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)  # an sshd of root does not start without it
        self.processes = []
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wireproof-sshd-"))
        try:
            self.make_keys()
            if namespaces is None:
                port = self.free_port()
                self.start((program,), HOSTS, port)
            else:
                port = 22  # free in each namespace
                for address, namespace in namespaces.items():
                    self.start(("ip", "netns", "exec", namespace, program), (address,), port)
        except BaseException:
            self.close()
            raise
        options = ("BatchMode=yes", "IdentitiesOnly=yes", "IdentityAgent=none", "StrictHostKeyChecking=no",
                   "UserKnownHostsFile=/dev/null", "GlobalKnownHostsFile=/dev/null", "LogLevel=ERROR")
        # A command for wireproof launch --ssh.
        self.ssh = " ".join((f"ssh -F /dev/null -p {port} -i {self.folder}/user_key",
                             *(f"-o {option}" for option in options)))

    def make_keys(self):
        for name in ("host_key", "user_key"):
            subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name), check=True)
        shutil.copy(self.folder / "user_key.pub", self.folder / "authorized_keys")

    @staticmethod
    def free_port():
        """Free on both hosts, and below those that the system gives to others who ask for any."""
        for port in random.sample(range(10_000, 30_000), 1000):
            with socket.socket() as one, socket.socket() as other:
                try:
                    one.bind((HOSTS[0], port))
                    other.bind((HOSTS[1], port))
                except OSError:
                    continue
                return port
        raise AssertionError("no port is free")

    def start(self, program, addresses, port):
        listens = "".join(f"ListenAddress {address}:{port}\n" for address in addresses)
        settings = self.folder / f"sshd_config.{len(self.processes)}"
        settings.write_text(listens + SETTINGS.format(folder=self.folder))
        log = self.folder / f"log.{len(self.processes)}"
        with open(log, "wb") as file:
            process = subprocess.Popen((*program, "-D", "-e", "-f", settings), stdin=subprocess.DEVNULL, stdout=file,
                                       stderr=file)
        self.processes.append(process)
        end = time.monotonic() + PATIENCE
        while log.read_text().count("Server listening") < len(addresses):
            if process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"sshd does not start: {log.read_text()}")
            time.sleep(0.01)

    def close(self):
        for process in self.processes:
            process.terminate()
            process.wait(PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)
