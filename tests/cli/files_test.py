"""What cannot be read, what cannot be written, and what is left of it."""
import os
import resource
import shutil
import socket
import subprocess
import unittest

from command import WIREPROOF, Case, bytes_written, child_of, free_port, one_object

MOUNT = ["unshare", "--mount", "--map-root-user", "sh", "-c"]


class AFileThatCannotBeReadIsToldInOneLine(Case):
    def refuses(self, path, *words):
        for arguments in (("carry", path), ("carry", path, "--wire", "sim"),
                          ("send", path, "--to", f"127.0.0.1:{free_port()}")):
            with self.subTest(arguments):
                ended = self.run_command(*arguments)
                self.expect_failure(ended, 1, "cannot read", path, *words)
                self.assertEqual(ended.out, "")

    def test_because_it_is_missing(self):
        self.refuses("nowhere", "No such file")
        self.refuses(self.file(1) + "/inside", "Not a directory")

    def test_because_it_is_no_regular_file(self):
        os.mkfifo(self.path("fifo"))
        self.refuses(self.folder, "it is a directory")
        self.refuses(self.path("fifo"), "it is not a regular file")
        self.refuses("/dev/null", "it is not a regular file")

    def test_because_it_does_not_say_how_long_it_is(self):
        self.refuses("/proc/self/status", "how long")

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_because_it_is_forbidden(self):
        os.chmod(self.file(1), 0)
        self.refuses(self.path("file.bin"), "Permission denied")

    def test_and_in_json_as_well(self):
        ended = self.run_command("carry", "nowhere", "--json")
        report = one_object(ended)
        self.expect_failure(ended, 1, report["error"])
        self.assertEqual((report["runs"], report["bytes"]), ([], 0))

    def test_because_it_becomes_shorter_on_the_way(self):
        process = self.start("carry", *self.long_run(), "--out", "copy.bin")
        receiver = child_of(process)
        self.until(lambda: bytes_written(receiver) > 0, process)
        os.truncate(self.path("long.bin"), 1000)
        self.expect_failure(self.finish(process), 1, "cannot read", "it became shorter")
        self.expect_no_part_left("long.bin")


class AFileThatCannotBeWrittenLeavesNothingBehind(Case):
    def refuses(self, out, *words):
        path = self.file(300_000)
        for wire in ("udp", "sim"):
            with self.subTest(out=out, wire=wire):
                ended = self.run_command("carry", path, "--out", out, "--wire", wire)
                self.expect_failure(ended, 1, "cannot write", out, *words)
        ended = self.run_command("recv", "--listen", "127.0.0.1:0", "--out", out)
        self.expect_failure(ended, 1, "cannot write", out, *words)

    def test_because_its_folder_is_missing(self):
        self.refuses("nowhere/copy.bin", "No such file or directory")
        self.expect_no_part_left("file.bin")

    def test_because_a_directory_has_its_name(self):
        os.mkdir(self.path("folder"))
        self.refuses("folder", "Is a directory")
        self.refuses("new/", "Is a directory")
        self.expect_no_part_left("file.bin", "folder")

    def test_because_the_device_is_full(self):
        path = self.file(300_000)
        for more in ((), ("--mtu", "128"), ("--wire", "sim"), ("--loss", "0.2")):
            with self.subTest(more):
                ended = self.run_command("carry", path, "--out", "/dev/full", *more)
                self.expect_failure(ended, 1, "cannot write /dev/full", "No space left")

    def test_because_it_is_longer_than_a_limit_allows(self):
        path = self.file(300_000)
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limit[1]))
        try:
            process = self.start("carry", path, "--out", "copy.bin")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        self.expect_failure(self.finish(process), 1, "cannot write copy.bin", "File too large")
        self.expect_no_part_left("file.bin")

    def test_because_the_disk_is_full(self):
        """A disk of its own, seen by nobody else and gone with the shell that mounted it."""
        path = self.file(2_000_000)
        os.mkdir(self.path("disk"))
        script = ("mount -t tmpfs -o size=1m none disk && echo old >disk/copy.bin && "
                  '"$@"; echo code $? >&2; ls -A disk >&2; cat disk/copy.bin >&2')
        if not can_mount():
            self.skipTest("no mount namespace for this user")
        done = subprocess.run(
            [*MOUNT, script, "sh", WIREPROOF, "carry", path, "--out", "disk/copy.bin"],
            cwd=self.folder, capture_output=True, text=True, timeout=150, check=False)
        error, *rest = done.stderr.splitlines()
        self.assertIn("cannot write disk/copy.bin: No space left on device", error)
        self.assertEqual(rest, ["code 1", "copy.bin", "old"])


class AFileHasItsNameOnceItIsWhole(Case):
    def test_another_of_that_name_is_replaced_only_then(self):
        path = self.file(200_000)
        with open(self.path("copy.bin"), "wb") as old:
            old.write(b"old")
        failed = self.run_command("carry", path, "--out", "copy.bin", "--loss", "1",
                                  "--peer-timeout", "0.3")
        self.assertEqual(failed.code, 1)
        with open(self.path("copy.bin"), "rb") as old:
            self.assertEqual(old.read(), b"old")
        self.assertEqual(self.run_command("carry", path, "--out", "copy.bin").code, 0)
        self.same_bytes(path, self.path("copy.bin"))
        self.expect_no_part_left("file.bin", "copy.bin")

    def test_a_file_may_be_carried_onto_itself(self):
        path = self.file(200_000)
        shutil.copy(path, self.path("before.bin"))
        self.assertEqual(self.run_command("carry", path, "--out", path).code, 0)
        self.same_bytes(path, self.path("before.bin"))

    def test_a_new_file_has_the_permissions_that_new_files_have(self):
        path = self.file(1)
        process = self.start("carry", path, "--out", "copy.bin", umask=0o027)
        self.assertEqual(self.finish(process).code, 0)
        self.assertEqual(os.stat(self.path("copy.bin")).st_mode & 0o777, 0o640)

    def test_the_longest_of_names_will_do(self):
        path = self.file(1000)
        for _ in range(2):  # the second time there is another file to be replaced
            self.assertEqual(self.run_command("carry", path, "--out", "n" * 255).code, 0)
        self.expect_no_part_left("file.bin", "n" * 255)

    def test_a_pipe_gets_the_bytes_in_order(self):
        path = self.file(600_000)
        process = self.start("carry", path, "--out", "/dev/stderr", "--loss", "0.1")
        out, err = process.communicate(timeout=150)
        self.assertEqual(process.returncode, 0, out)
        with open(path, "rb") as file:
            self.assertTrue(err == file.read())


class APortThatIsTakenIsToldInOneLine(Case):
    def test_by_recv(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind(("127.0.0.1", 0))
            port = other.getsockname()[1]
            ended = self.run_command("recv", "--listen", f"127.0.0.1:{port}", "--out", "copy.bin")
        self.expect_failure(ended, 1, "cannot bind", str(port), "already in use")
        self.expect_no_part_left()

    def test_as_is_an_address_of_another_host(self):
        ended = self.run_command("recv", "--listen", "192.0.2.1:7000", "--out", "copy.bin")
        self.expect_failure(ended, 1, "cannot bind 192.0.2.1:7000")


def can_mount():
    try:
        probe = subprocess.run([*MOUNT, "mount -t tmpfs none /mnt"], capture_output=True,
                               timeout=150, check=False)
    except OSError:
        return False
    return probe.returncode == 0


if __name__ == "__main__":
    unittest.main()
