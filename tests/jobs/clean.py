"""How the tests of this folder start programs: without what another launcher may have set."""
import os

OF_LAUNCHERS = ("PMI", "PRTE_", "OMPI_", "SLURM_", "WIREPROOF_")
# As root and on fewer processors than ranks, and with no traffic to other hosts.
MPIRUN = ("mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "oob_tcp_if_include", "lo")


def clean_environment():
    return {name: value for name, value in os.environ.items()
            if not name.startswith(OF_LAUNCHERS) and name not in ("RANK", "WORLD_SIZE")}
