"""What the tests of the launcher share: ranks whose processes are known, and a look whether they have ended."""
import os
import time

from command import PATIENCE, Case, is_running, kill_if_there

# All ranks write to one pipe. An unbuffered Python would write a line and its end apart.
os.environ.pop("PYTHONUNBUFFERED", None)
# A rank that says its process number, and that of a child, and then sleeps.
SLEEP = "sleep 1000 & echo $$ $!; wait"
# A shell ignores SIGINT in a process that it runs in the background, so here it has none.
PLAIN = "echo $$ $$; exec sleep 1000"
# The same as SLEEP, but it ignores signals.
STUBBORN = "trap '' TERM INT HUP; " + SLEEP
# The protocol of the rendezvous, written a second time, so that a change of it is noticed.
MEET = """
import os, socket, sys
rank, token = os.environ["WIREPROOF_RANK"], os.environ["WIREPROOF_TOKEN"]
host, port = os.environ["WIREPROOF_RENDEZVOUS"].rsplit(":", 1)

def meet(rank, entry, token=token):
    with socket.create_connection((host, int(port)), 300) as door:
        door.sendall(f"wireproof-rendezvous 1 {token} {rank} 0 {len(entry)}\\n".encode() + entry)
        with door.makefile("rb") as answer:
            return answer.read()
"""


def state_of(number):
    """The state of a process: "S" if it sleeps, "T" if it is stopped. "": it is gone."""
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0]
    except OSError:
        return ""


class LaunchCase(Case):
    def launch(self, *arguments, **streams):
        return self.run_command("launch", *arguments, **streams)

    def begin(self, *arguments, ranks, text=SLEEP, **streams):
        """Starts a job whose ranks run the text. Returns it, and the numbers of all their processes."""
        process = self.start(*arguments, "--", "sh", "-c", text, **streams)
        numbers = []
        for _ in range(ranks):
            numbers += map(int, process.stdout.readline().split())
        self.assertEqual(len(numbers), 2 * ranks)
        for number in numbers:
            self.addCleanup(kill_if_there, number)
        return process, numbers

    def expect_gone(self, numbers):
        end = time.monotonic() + PATIENCE
        while left := [number for number in numbers if is_running(number)]:
            self.assertLess(time.monotonic(), end, f"{left} are still there")
            time.sleep(0.01)
