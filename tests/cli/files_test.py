"""Files that cannot be read, files that cannot be written, and what the command leaves of them."""
import os
import resource
import shutil
import socket
import stat
import subprocess
import unittest

from command import PATIENCE, WIREPROOF, Case, bytes_written, child_of, free_port, one_object

# Two quick points.
GRID = "packets = 1e3\n[grid]\nber = [1e-6, 1e-5]\n"
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
        """The disk is visible only to the shell that mounts it, and ends with this shell."""
        path = self.file(2_000_000)
        os.mkdir(self.path("disk"))
        script = ("mount -t tmpfs -o size=1m none disk && echo old >disk/copy.bin && "
                  '"$@"; echo code $? >&2; ls -A disk >&2; cat disk/copy.bin >&2')
        if not can_mount():
            self.skipTest("no mount namespace for this user")
        done = subprocess.run(
            [*MOUNT, script, "sh", WIREPROOF, "carry", path, "--out", "disk/copy.bin"],
            cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
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
        for _ in range(2):  # the second time the command replaces a file
            self.assertEqual(self.run_command("carry", path, "--out", "n" * 255).code, 0)
        self.expect_no_part_left("file.bin", "n" * 255)

    def test_a_file_that_is_replaced_keeps_its_mode(self):
        path = self.file(1000)
        self.file(5, "copy.bin")
        for mode in (0o600, 0o640, 0o777):
            os.chmod(self.path("copy.bin"), mode)
            self.assertEqual(self.run_command("carry", path, "--out", "copy.bin").code, 0)
            self.assertEqual(os.stat(self.path("copy.bin")).st_mode & 0o7777, mode)
        self.same_bytes(path, self.path("copy.bin"))

    @unittest.skipIf(os.geteuid() != 0, "only root may give a file away")
    def test_a_file_that_is_replaced_keeps_its_owner(self):
        path = self.file(1000)
        os.chown(self.file(5, "copy.bin"), 1234, 4321)
        self.assertEqual(self.run_command("carry", path, "--out", "copy.bin").code, 0)
        status = os.stat(self.path("copy.bin"))
        self.assertEqual((status.st_uid, status.st_gid), (1234, 4321))

    def test_a_symbolic_link_stays_and_its_target_is_replaced(self):
        path = self.file(1000)
        os.mkdir(self.path("folder"))
        os.symlink("folder/second", self.path("first"))
        os.symlink("copy.bin", self.path("folder/second"))
        for _ in range(2):  # first without a target of the link, then with one
            self.assertEqual(self.run_command("carry", path, "--out", "first").code, 0)
            self.assertEqual(os.readlink(self.path("first")), "folder/second")
            self.same_bytes(path, self.path("folder/copy.bin"))
        self.assertEqual(sorted(os.listdir(self.path("folder"))), ["copy.bin", "second"])

    def test_links_in_a_circle_are_refused(self):
        os.symlink("right", self.path("left"))
        os.symlink("left", self.path("right"))
        ended = self.run_command("carry", self.file(10), "--out", "left")
        self.expect_failure(ended, 1, "cannot write left", "Too many levels of symbolic links")

    def test_a_pipe_is_written_and_not_replaced(self):
        path = self.file(600_000)
        os.mkfifo(self.path("fifo"))
        process = self.start("carry", path, "--out", "fifo", "--loss", "0.1")
        with open(self.path("fifo"), "rb") as fifo, open(path, "rb") as file:
            self.assertTrue(fifo.read() == file.read())
        self.assertEqual(self.finish(process).code, 0)
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path("fifo")).st_mode))

    def test_a_pipe_gets_the_bytes_in_order(self):
        path = self.file(600_000)
        process = self.start("carry", path, "--out", "/dev/stderr", "--loss", "0.1")
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, out)
        with open(path, "rb") as file:
            self.assertTrue(err == file.read())


class AMinusIsStandardOutput(Case):
    def test_for_the_file_and_then_the_table_goes_elsewhere(self):
        path = self.file(600_000)
        for name in ("-", "/dev/stdout"):
            ended = self.run_command("carry", path, "--out", name, "--loss", "0.1")
            self.assertEqual(ended.code, 0)
            with open(path, "rb") as file:
                self.assertTrue(ended.raw == file.read())
            self.assertIn("verified", ended.err)

    def test_for_a_picture_a_capture_and_a_table(self):
        self.assertIn("<svg", self.run_command("ladder", "pcie-lost-tlp", "--svg", "-").out)
        self.assertEqual(self.run_command("ladder", "pcie-lost-tlp", "--pcapng", "-").raw[:4],
                         bytes.fromhex("0a0d0d0a"))
        ended = self.run_command("sweep", "--ber", "1e-9", "--packets", "1e3", "--csv", "-")
        self.assertTrue(ended.out.startswith("protocol,"), ended.out)

    def test_two_outputs_on_it_are_refused(self):
        path = self.file(10)
        for arguments in (("carry", path, "--out", "-", "--json"),
                          ("carry", path, "--out", "/dev/stdout", "--json"),
                          ("ladder", "pcie-lost-tlp", "--svg", "-", "--pcapng", "-"),
                          ("ladder", "pcie-lost-tlp", "--svg", "-", "--pcapng", "/dev/stdout"),
                          ("sweep", "--ber", "1e-9", "--csv", "-", "--json"),
                          ("perf", "--html", "-", "--json"),
                          ("search", "pcie", "--out", "-", "--json"),
                          ("carry", path, "--out", "-", "--protocol", "all")):
            with self.subTest(arguments):
                ended = self.run_command(*arguments)
                self.expect_failure(ended, 2)


class AnOutputIsTriedBeforeAnythingRuns(Case):
    def test_no_frame_moves_for_a_file_that_cannot_be_written(self):
        ended = self.run_command("carry", self.file(10), "--out", "nowhere/copy.bin", "--json")
        report = one_object(ended)
        self.assertEqual((ended.code, report["runs"]), (1, []))

    @unittest.skipIf(os.geteuid() == 0, "root may write everything")
    def test_a_file_that_may_not_be_written_is_not_replaced(self):
        os.chmod(self.file(5, "copy.bin"), 0o444)
        ended = self.run_command("carry", self.file(10), "--out", "copy.bin")
        self.expect_failure(ended, 1, "cannot write copy.bin", "Permission denied")

    def test_results_are_added_to_regular_files_only(self):
        with open(self.path("grid.toml"), "w", encoding="utf-8") as grid:
            grid.write(GRID)
        self.assertEqual(self.run_command("sweep", "grid.toml").code, 0)
        results = [name for name in os.listdir(self.folder) if name != "grid.toml"]
        self.assertEqual(len(results), 1, results)
        os.remove(self.path(results[0]))
        os.mkfifo(self.path(results[0]))
        ended = self.run_command("sweep", "grid.toml")
        self.expect_failure(ended, 1, "it is not a regular file")
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path(results[0])).st_mode))


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
                               timeout=PATIENCE, check=False)
    except OSError:
        return False
    return probe.returncode == 0


if __name__ == "__main__":
    unittest.main()
