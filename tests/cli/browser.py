"""Pages in a real browser: headless Chromium, if it is installed."""
import json
import os
import re
import shutil
import subprocess

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WHY_SKIPPED = "no Chromium on this machine (Debian: apt-get install chromium)"
PATIENCE = 300  # seconds; it only catches a browser that hangs


class Browser:
    """Opens pages of one folder. The files of the browser are in that folder, too."""

    def __init__(self, folder):
        self.folder = folder

    def run(self, page, *arguments):
        """Returns the standard output, and what the scripts of the page wrote to the console. The browser's
        own pages write there, too, for example if the machine is slow."""
        done = subprocess.run(
            [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--no-first-run", "--disable-background-networking", "--enable-logging=stderr",
             f"--user-data-dir={self.folder}/profile", "--virtual-time-budget=5000", *arguments,
             "file://" + page],
            capture_output=True, timeout=PATIENCE, check=False,
            env={**os.environ, "HOME": self.folder})
        said = done.stderr.decode(errors="replace")
        return done.stdout.decode(errors="replace"), re.findall(r".*CONSOLE(?!.*source: chrome://).*", said)

    def ask(self, page, script, *arguments):
        """Runs `script` at the end of the page and returns its result."""
        with open(page, encoding="utf-8") as file:
            text = file.read()
        answer = "<script>{const answer = document.createElement('pre');answer.id = 'answer';" \
                 "answer.textContent = JSON.stringify((() => {%s})());" \
                 "document.body.append(answer);}</script></body>"
        asked = os.path.join(self.folder, "asked.html")
        with open(asked, "w", encoding="utf-8") as file:
            file.write(text.replace("</body>", answer.replace("%s", script)))
        out, console = self.run(asked, "--dump-dom", *arguments)
        found = re.search(r'<pre id="answer">(.*?)</pre>', out, re.S)
        if not found:
            raise AssertionError(f"the page gave no answer; console: {console}")
        text = found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        return json.loads(text), console

    def paper(self, page):
        """Returns the page as printed on paper."""
        path = os.path.join(self.folder, "paper.pdf")
        _, console = self.run(page, f"--print-to-pdf={path}", "--no-pdf-header-footer")
        return path, console
