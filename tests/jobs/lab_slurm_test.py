"""The laboratory under Slurm. WIREPROOF is the command. The results are those of one process."""
import os
import unittest

import slurm
from lab_test import WIREPROOF, Case


class SlurmSweep(Case):
    @classmethod
    def setUpClass(cls):
        cls.cluster = slurm.cluster_of(cls)

    def in_folder(self, *words):
        """A command for a host of the cluster."""
        return ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", self.folder, *words]

    def test_the_ranks_of_srun_share_the_points(self):
        whole = self.wholly()
        for mpi in ("pmix", "pmi2"):
            with self.subTest(mpi):
                ended = self.cluster.srun(mpi, *self.in_folder(WIREPROOF, "sweep", "grid.toml"))
                self.assertEqual((ended.returncode, ended.stderr), (0, ""))
                self.assertEqual(self.read(), whole)
                os.remove(self.path("grid.results"))

    def test_the_five_tasks_of_an_array_are_one_sweep(self):
        whole = self.wholly()
        self.write("batch.sh", f"#!/bin/sh\ncd {self.folder} && exec {WIREPROOF} sweep grid.toml\n")
        ended = self.cluster.run(0, ["sbatch", "-W", "--array=1-5", "-n", "1", "-o", self.path("%a.out"), self.path("batch.sh")])
        out = [self.read(f"{task}.out").decode() for task in range(1, 6)]
        self.assertEqual(ended.returncode, 0, ended.stderr + "".join(out))
        self.alone("sweep", "grid.toml")
        self.assertEqual(self.read(), whole)


if __name__ == "__main__":
    unittest.main()
