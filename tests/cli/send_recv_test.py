"""send and recv between two hosts. Here this machine is both hosts."""
import os
import random
import re
import signal
import socket
import subprocess
import unittest

from command import Case, bytes_written, free_port, one_object


class TwoHosts(Case):
    def listen(self, *arguments, host="127.0.0.1"):
        """Starts a recv. Returns it, and the address on which it listens."""
        recv = self.start("recv", "--listen", f"{host}:0", "--out", "copy.bin", *arguments)
        line = recv.stderr.readline().decode()
        found = re.fullmatch(r"listening on (\S+) \(seed \d+\)\n", line)
        self.assertTrue(found, line)
        return recv, found[1]

    def send(self, address, size=300_001, arguments=()):
        return self.run_command("send", self.file(size), "--to", address, *arguments)

    def arrived(self, sent, recv):
        self.assertEqual((sent.code, sent.err), (0, ""))
        ended = self.finish(recv)
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.same_bytes(self.path("file.bin"), self.path("copy.bin"))
        self.expect_no_part_left("file.bin", "copy.bin")
        return ended

    def begin(self, *arguments):
        """Starts a long transfer."""
        path, *figures = self.long_run()
        recv, address = self.listen("--mtu", figures[-1], *arguments)
        send = self.start("send", path, *figures, "--to", address, *arguments)
        self.until(lambda: bytes_written(recv.pid) > 200_000, send)
        return send, recv, address


class AFileArrivesAtAnotherHost(TwoHosts):
    def test_over_ipv4_and_over_ipv6(self):
        for host in ("127.0.0.1", "[::1]"):
            with self.subTest(host):
                recv, address = self.listen(host=host)
                sent = self.send(address)
                ended = self.arrived(sent, recv)
                self.assertIn("300001 bytes sent and verified", sent.out)
                self.assertIn("300001 bytes received and verified", ended.out)
                self.assertRegex(sent.out, r"\(seed \d+\)")

    def test_over_ipv4_to_one_that_listens_at_every_address(self):
        recv, address = self.listen(host="[::]")
        port = address.rsplit(":", 1)[1]
        self.arrived(self.send(f"127.0.0.1:{port}"), recv)

    def test_whichever_address_of_the_host_was_asked(self):
        """An answer that left from another address would not reach the sender."""
        for host in ("0.0.0.0", "[::]"):
            with self.subTest(host):
                recv, address = self.listen(host=host)
                port = address.rsplit(":", 1)[1]
                self.arrived(self.send(f"127.0.0.2:{port}"), recv)

    def test_if_it_is_empty_or_one_byte(self):
        for size in (0, 1):
            recv, address = self.listen()
            self.arrived(self.send(address, size), recv)

    def test_if_frames_are_lost_on_the_way_there_and_back(self):
        faults = ("--loss", "0.2", "--duplicate", "0.1", "--reorder", "0.1", "--ber", "1e-6")
        recv, address = self.listen(*faults)
        self.arrived(self.send(address, arguments=faults), recv)

    def test_if_the_receiver_comes_later_than_the_sender(self):
        port = free_port()
        send = self.start("send", self.file(1000), "--to", f"127.0.0.1:{port}", "--peer-timeout", "300")
        with self.assertRaises(subprocess.TimeoutExpired):
            send.wait(timeout=0.4)
        recv = self.start("recv", "--listen", f"127.0.0.1:{port}", "--out", "copy.bin")
        self.assertEqual(self.finish(send).code, 0)
        self.assertEqual(self.finish(recv).code, 0)
        self.same_bytes(self.path("file.bin"), self.path("copy.bin"))

    def test_with_figures_in_json(self):
        recv, address = self.listen("--json")
        sent = self.send(address, arguments=("--json", "--seed", "9"))
        report = one_object(sent)
        self.assertEqual((report["schema"], report["seed"]), ("wireproof.send/1", 9))
        received = one_object(self.arrived(sent, recv))
        self.assertEqual(received["schema"], "wireproof.recv/1")
        for told in (report, received):
            self.assertEqual(told["bytes"], 300_001)
            self.assertEqual(told["runs"][0]["bytes"], 300_001)
            self.assertTrue(told["runs"][0]["verified"] and told["runs"][0]["complete"])
        self.assertTrue(0.8 < report["runs"][0]["etr"] < 1)

    def test_whatever_strangers_send_to_its_port(self):
        recv, address = self.listen()
        host, port = address.rsplit(":", 1)
        noise = random.Random(5)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for _ in range(2000):
                stranger.sendto(noise.randbytes(noise.randrange(1600)), (host, int(port)))
            self.arrived(self.send(address), recv)

    def test_from_the_first_sender_while_a_second_is_turned_away(self):
        send, recv, address = self.begin()
        second = self.send(address, arguments=("--peer-timeout", "0.3", "--mtu", "200"))
        self.expect_failure(second, 1, "no recv answered", address)
        self.assertEqual((send.poll(), recv.poll()), (None, None))


class ASenderThatIsKilledAndStartedAgain(TwoHosts):
    """The killed one sends the long file. What is sent afterwards is short, so that the test ends."""

    def begin_and_kill(self, out):
        path, *figures = self.long_run()
        recv = self.start("recv", "--listen", "127.0.0.1:0", "--out", out, "--mtu", figures[-1], "--peer-timeout", "100")
        address = recv.stderr.readline().decode().split()[2]
        send = self.start("send", path, *figures, "--to", address)
        if out == "-":
            self.assertEqual(recv.stdout.read(1000), bytes(1000))
        else:
            self.until(lambda: bytes_written(recv.pid) > 200_000, send)
        send.kill()
        self.finish(send)
        return recv, address, ("--mtu", figures[-1])

    def test_is_served_from_the_beginning(self):
        recv, address, figures = self.begin_and_kill("copy.bin")
        self.arrived_again(self.send(address, arguments=figures), recv)

    def test_is_told_that_a_pipe_takes_nothing_back(self):
        recv, address, figures = self.begin_and_kill("-")
        self.start("send", self.file(1000), "--to", address, *figures)
        self.expect_failure(self.finish(recv), 1, "the sender was started again, but what is already written cannot be removed")

    def arrived_again(self, sent, recv):
        self.assertEqual((sent.code, sent.err), (0, ""))
        ended = self.finish(recv)
        self.assertEqual((ended.code, ended.err), (0, "the sender was started again: receiving from the beginning\n"))
        self.same_bytes(self.path("file.bin"), self.path("copy.bin"))
        self.expect_no_part_left("file.bin", "copy.bin", "long.bin")


class AReceiverMayStopWaiting(TwoHosts):
    def test_for_a_sender_that_does_not_come(self):
        ended = self.run_command("recv", "--listen", "127.0.0.1:0", "--out", "copy.bin", "--wait",
                                 "0.3")
        self.assertEqual(ended.code, 1)
        self.assertIn("no sender came within 0.3 s", ended.err)
        self.expect_no_part_left()

    def test_but_not_during_a_transfer(self):
        """The sender calls already when the receiver begins to wait."""
        path, *figures = self.long_run()
        os.truncate(path, 1 << 30)
        address = f"127.0.0.1:{free_port()}"
        self.start("send", path, *figures, "--to", address, "--peer-timeout", "300")
        recv = self.start("recv", "--listen", address, "--out", "copy.bin", "--mtu", figures[-1], "--wait", "2")
        self.until(lambda: bytes_written(recv.pid) > 20_000, recv)
        with self.assertRaises(subprocess.TimeoutExpired):
            recv.wait(timeout=2)


class AHostThatIsNotThereIsReported(TwoHosts):
    def test_if_nobody_listens(self):
        ended = self.send(f"127.0.0.1:{free_port()}", arguments=("--peer-timeout", "0.5"))
        self.expect_failure(ended, 1, "no recv answered", "0.5 s")

    def test_in_json_too(self):
        ended = self.send(f"127.0.0.1:{free_port()}", arguments=("--peer-timeout", "0.3", "--json"))
        report = one_object(ended)
        self.expect_failure(ended, 1, report["error"])
        self.assertFalse(report["runs"][0]["verified"])

    def test_if_the_mtu_is_another_and_the_next_sender_is_served(self):
        recv, address = self.listen("--mtu", "1400")
        wrong = self.send(address, arguments=("--peer-timeout", "0.5"))
        self.expect_failure(wrong, 1, "--mtu")
        right = self.send(address, arguments=("--mtu", "1400"))
        self.assertEqual(right.code, 0, right.err)
        ended = self.finish(recv)
        self.assertEqual(ended.code, 0)
        self.assertEqual(ended.err, "a sender with another --mtu or version asked to send\n")

    def test_if_either_dies_on_the_way(self):
        for dies, stays, done in ((0, 1, "received"), (1, 0, "sent")):
            with self.subTest(done):
                hosts = self.begin("--peer-timeout", "20")[:2]
                hosts[dies].kill()
                ended = self.finish(hosts[stays])
                self.expect_failure(ended, 1, f"was not {done}", "silent for 20 s")
                self.expect_no_part_left("long.bin")

    def test_at_once_if_the_sender_can_say_why(self):
        send, recv, _ = self.begin("--peer-timeout", "1000")
        os.truncate(self.path("long.bin"), 1000)
        self.expect_failure(self.finish(send), 1, "was not sent", "it became shorter")
        self.expect_failure(self.finish(recv), 1, "was not received", "it became shorter")
        self.expect_no_part_left("long.bin")

    def test_at_once_if_the_receiver_can_say_why(self):
        recv = self.start("recv", "--listen", "127.0.0.1:0", "--out", "/dev/full")
        address = recv.stderr.readline().decode().split()[2]
        self.expect_failure(self.send(address), 1, "was not sent", "No space left")
        self.expect_failure(self.finish(recv), 1, "was not received", "No space left")

    def test_a_receiver_that_waits_ends_when_it_is_asked_to(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            recv, _ = self.listen()
            recv.send_signal(number)
            ended = self.finish(recv)
            self.assertEqual(ended.code, -number)
            self.assertRegex(ended.err, r"^wireproof: interrupted \(.*\)\n$")
            self.expect_no_part_left()


if __name__ == "__main__":
    unittest.main()
