"""During a carry, a test kills, stops or interrupts one of its two processes."""
import os
import signal
import time
import unittest

from command import PATIENCE, Case, bytes_written, child_of, is_running, kill_if_there, one_object

# Seconds of silence. A process that waits for a processor is silent, too: so it is long, except in the tests of silence.
PEER_TIMEOUT, SHORT = 10 * PATIENCE, 20
UNDER_WAY = 20_000  # bytes of the file that the receiver has written


class KillingEitherProcessEndsTheOther(Case):
    PROTOCOL = "sp-am"

    def begin(self, *more, silence=PEER_TIMEOUT):
        """Starts a carry. Returns the sender, and the process number of the receiver."""
        sender = self.start("carry", *self.long_run(), "--out", "copy.bin",
                            "--peer-timeout", str(silence), "--protocol", self.PROTOCOL, *more)
        receiver = child_of(sender)
        self.addCleanup(kill_if_there, receiver)
        self.until(lambda: bytes_written(receiver) >= UNDER_WAY, sender)
        return sender, receiver

    def expect_gone(self, number):
        end = time.monotonic() + PATIENCE
        while is_running(number):
            self.assertLess(time.monotonic(), end, "the other process is still there")
            time.sleep(0.02)

    def test_a_receiver_that_dies_is_reported_by_the_sender(self):
        for number in (signal.SIGKILL, signal.SIGTERM):
            with self.subTest(number):
                sender, receiver = self.begin()
                os.kill(receiver, number)
                ended = self.finish(sender)
                self.expect_failure(ended, 1, "was not carried", "the receiving process")
                self.assertIn("FAILED", ended.out)
                self.expect_gone(receiver)
                self.expect_no_part_left("long.bin")

    def test_and_in_json(self):
        sender, receiver = self.begin("--json")
        os.kill(receiver, signal.SIGKILL)
        ended = self.finish(sender)
        report = one_object(ended)
        self.expect_failure(ended, 1, report["error"])
        self.assertFalse(report["runs"][0]["verified"])
        self.assertLess(report["runs"][0]["bytes"], report["bytes"])

    def test_a_sender_that_dies_takes_the_receiver_along(self):
        sender, receiver = self.begin()
        sender.kill()
        # The receiver also writes to this standard error, so it ends with the receiver.
        ended = self.finish(sender)
        self.assertEqual(ended.err, "wireproof: the sending process has ended before the file\n")
        self.expect_gone(receiver)
        self.expect_no_part_left("long.bin")

    def test_a_sender_that_is_asked_to_end_puts_everything_away(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                sender, receiver = self.begin()
                sender.send_signal(number)
                ended = self.finish(sender)
                self.assertEqual(ended.code, -number)
                self.assertRegex(ended.err, r"^wireproof: interrupted \(.*\)\n$")
                self.assertEqual(ended.out, "")
                self.expect_gone(receiver)
                self.expect_no_part_left("long.bin")

    def test_a_receiver_that_is_stopped_is_given_up_and_not_left_behind(self):
        sender, receiver = self.begin(silence=SHORT)
        os.kill(receiver, signal.SIGSTOP)
        ended = self.finish(sender)
        self.expect_failure(ended, 1, f"silent for {SHORT} s")
        self.expect_gone(receiver)
        self.expect_no_part_left("long.bin")

    def test_a_sender_that_is_stopped_finds_itself_given_up(self):
        sender, receiver = self.begin(silence=SHORT)
        sender.send_signal(signal.SIGSTOP)
        self.expect_gone(receiver)
        sender.send_signal(signal.SIGCONT)
        # Silent, or there without an answer: it depends on which frames were on the way.
        self.expect_failure(self.finish(sender), 1, f" {SHORT} s")
        self.expect_no_part_left("long.bin")

    def test_in_virtual_time_there_is_only_one_to_ask(self):
        process = self.start("carry", *self.long_run(), "--wire", "sim", "--out", "copy.bin",
                             "--protocol", self.PROTOCOL)
        self.until_it_catches(process, signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process).code, -signal.SIGTERM)
        self.expect_no_part_left("long.bin")


class KillingEitherEndOfALinkEndsTheOther(KillingEitherProcessEndsTheOther):
    PROTOCOL = "pcie"


if __name__ == "__main__":
    unittest.main()
