#!/usr/bin/env python3
"""Installs the RDMA device as a CI job does: with tools/device.sh, which action.yml and Dockerfile call.

The test has its own mount namespace with an empty /usr/local and home, so it finds nothing of this machine by chance.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["WIREPROOF_SOURCE"])
LIMIT = 1200  # seconds, on a busy machine

# All steps of a job. The folder that the script installs into exists in this namespace only.
JOB = r"""
set -eu
mount -t tmpfs none /usr/local
export HOME=/usr/local/home GITHUB_ENV=/usr/local/github.env
mkdir "$HOME"
"$1/tools/device.sh" --github >&2
cat "$GITHUB_ENV"
export $(cat "$GITHUB_ENV")
as_user="setpriv --reuid=65534 --regid=65534 --clear-groups"
$as_user ibv_devices
$as_user ibv_rc_pingpong -g 1 -n 50 -p 18900 &
until grep -q ':49D4 [0-9A-F:]* 0A' /proc/net/tcp /proc/net/tcp6; do sleep 0.05; done  # it listens to 18900
$as_user ibv_rc_pingpong -g 1 -n 50 -p 18900 127.0.0.1
wait
"""


class ADeviceIsInstalledByOneScript(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wireproof-device-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def script(self, *arguments, **environment):
        return subprocess.run([SOURCE / "tools/device.sh", *arguments], capture_output=True, text=True,
                              env={**os.environ, **environment}, timeout=LIMIT)

    def test_a_job_runs_on_it(self):
        if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
            self.skipTest("no mount namespace may be made here")
        # The test copies the repository, because the script builds in the folder of its sources.
        names = subprocess.run(["git", "ls-files", "-z"], cwd=SOURCE, capture_output=True, check=True).stdout.split(b"\0")
        checkout = self.folder / "wireproof"
        for name in filter(None, names):
            source, target = SOURCE / os.fsdecode(name), checkout / os.fsdecode(name)
            if source.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        job = subprocess.run(["unshare", "--mount", "sh", "-c", JOB, "job", checkout], capture_output=True, text=True,
                             timeout=LIMIT)
        self.assertEqual(job.returncode, 0, job.stdout + job.stderr)
        self.assertRegex(job.stdout, r"(?m)^LD_PRELOAD=/usr/local/lib/wireproof/libwireproof-hooks\.so$")
        self.assertRegex(job.stdout, r"wireproof0\s+[0-9a-f]{16}\n")
        self.assertEqual(len(re.findall(r"(?m)^50 iters in", job.stdout)), 2, job.stdout)

    def test_what_it_does_not_know_is_told_in_one_line(self):
        for arguments, word in ((["--where", "x"], "--where"), (["--prefix"], "--prefix"), (["--github"], "GITHUB_ENV")):
            ended = self.script(*arguments, GITHUB_ENV="")
            self.assertEqual((ended.returncode, ended.stdout), (2, ""))
            self.assertRegex(ended.stderr, rf"^tools/device\.sh: .*{word}.*\n$")

    def test_the_action_and_the_image_call_it(self):
        for name in ("action.yml", "Dockerfile"):
            self.assertIn("tools/device.sh", (SOURCE / name).read_text())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
