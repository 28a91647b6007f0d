"""A Slurm cluster for tests: its own munged, slurmctld and slurmd, in namespaces that end with it. Nothing of it is
visible to the rest of the machine.

Each host is a network namespace with its own hostname, and all are joined by a bridge. The namespaces belong to a
process that waits; Cluster.run starts commands in that of a host.
"""
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from clean import clean_environment

# A process with this in front ends when the test ends, even if the test is killed.
TIED = ("setpriv", "--pdeathsig", "KILL")
PROGRAMS = ("setpriv", "munged", "slurmctld", "slurmd", "srun", "sinfo", "nsenter", "unshare", "ip")

CONFIGURATION = """
ClusterName=test
SlurmctldHost=host0(10.77.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
TmpFS={folder}/tmp.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SwitchType=switch/none
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmctldTimeout=300
SlurmdTimeout=300
InactiveLimit=0
KillWait=2
ReturnToService=2
SchedulerType=sched/builtin
SlurmdParameters=config_overrides
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
"""


def why_not():
    """Why there can be no cluster here, or None."""
    missing = [program for program in PROGRAMS if find(program) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    if os.getuid() != 0:
        return "takes root to make the hosts of a cluster"
    if subprocess.run(["unshare", "-n", "-u", "true"], capture_output=True).returncode != 0:
        return "no network namespaces here"
    return None


def find(program):
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


class Host:
    def __init__(self, name):
        # The process prints a line when it is in its namespaces.
        self.process = subprocess.Popen(
            [*TIED, "unshare", "-n", "-u", "sh", "-c", f"hostname {name}; ip link set lo up; echo; exec sleep infinity"],
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.process.stdout.readline()
        self.name = name

    def enter(self):
        return ["nsenter", "-t", str(self.process.pid), "-n", "-u"]


class Cluster:
    def __init__(self, hosts=2, tasks=4):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wireproof-slurm-"))
        self.folder.chmod(0o755)
        self.processes = []
        self.hosts = []
        try:
            self.hosts = [Host(f"host{i}") for i in range(hosts)]
            self._join()
            self._configure(tasks)
            self._start()
        except BaseException:
            self.close()
            raise

    def _join(self):
        """The bridge is in the namespaces of the first host."""
        def ip(host, *words):
            subprocess.run([*host.enter(), "ip", *words], check=True, capture_output=True)

        first = self.hosts[0]
        ip(first, "link", "add", "cluster", "type", "bridge")
        ip(first, "addr", "add", "10.77.0.1/24", "dev", "cluster")
        ip(first, "link", "set", "cluster", "up")
        for number, host in enumerate(self.hosts[1:], 2):
            ip(first, "link", "add", f"to{number}", "type", "veth", "peer", "name", "eth0", "netns",
               str(host.process.pid))
            ip(first, "link", "set", f"to{number}", "master", "cluster", "up")
            ip(host, "addr", "add", f"10.77.0.{number}/24", "dev", "eth0")
            ip(host, "link", "set", "eth0", "up")

    def _configure(self, tasks):
        (self.folder / "state").mkdir()
        for host in self.hosts:
            for name in ("spool", "tmp"):
                (self.folder / f"{name}.{host.name}").mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o600)
        nodes = "\n".join(
            f"NodeName={host.name} NodeAddr=10.77.0.{i} CPUs={tasks} RealMemory=64 State=UNKNOWN"
            for i, host in enumerate(self.hosts, 1))
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(folder=self.folder, nodes=nodes))
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")

    def environment(self):
        return dict(os.environ, SLURM_CONF=str(self.folder / "slurm.conf"),
                    PATH=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")

    def _spawn(self, host, *words):
        with open(self.folder / f"{words[0]}.{host.name}.out", "wb") as log:
            self.processes.append(subprocess.Popen([*host.enter(), *TIED, *words], env=self.environment(), stdout=log,
                                                   stderr=log, stdin=subprocess.DEVNULL, start_new_session=True))

    def _start(self):
        first = self.hosts[0]
        # The keys and sockets of munged lie in this folder, whose parent everybody may write into.
        self._spawn(first, "munged", "--foreground", "--force", f"--key-file={self.folder}/munge.key",
                    f"--socket={self.folder}/munge.socket", f"--pid-file={self.folder}/munged.pid",
                    f"--log-file={self.folder}/munged.log", f"--seed-file={self.folder}/munge.seed")
        self._spawn(first, "slurmctld", "-D")
        for host in self.hosts:
            self._spawn(host, "slurmd", "-D", "-N", host.name)
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            shown = self.run(0, ["sinfo", "-h", "-o", "%T %D"]).stdout.split()
            if shown == ["idle", str(len(self.hosts))]:
                return
            time.sleep(0.2)
        raise RuntimeError(f"Slurm does not start: {self.logs()}")

    def logs(self):
        return "\n".join(f"{file.name}: {file.read_text(errors='replace')[-2000:]}"
                         for file in sorted(self.folder.glob("*.log")) + sorted(self.folder.glob("*.out")))

    def run(self, host, words, timeout=300, **variables):
        return subprocess.run([*self.hosts[host].enter(), *map(str, words)], env={**self.environment(), **variables},
                              capture_output=True, text=True, timeout=timeout, cwd=self.folder)

    def srun(self, mpi, *words, nodes=2, tasks=4, **variables):
        """Runs srun on the first host, without what another launcher may have set."""
        clean = [word for name in os.environ.keys() - clean_environment().keys() for word in ("-u", name)]
        start = ["env", *clean, f"SLURM_CONF={self.folder}/slurm.conf", "srun", "--quiet", f"--mpi={mpi}"]
        return self.run(0, [*start, "-N", nodes, "-n", tasks, f"--ntasks-per-node={tasks // nodes}", *words], **variables)

    def close(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes + [host.process for host in self.hosts]:
            try:
                process.wait(0.1 if process in (host.process for host in self.hosts) else 10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for host in self.hosts:
            host.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def cluster_of(test_case):
    """A cluster for all tests of a class. It ends with them."""
    reason = why_not()
    if reason:
        raise unittest.SkipTest(reason)
    cluster = Cluster()
    test_case.addClassCleanup(cluster.close)
    return cluster
