"""Options that come from a file or from the environment, and --print-config."""
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

from command import WIREPROOF, Case

if sys.version_info >= (3, 11):
    import tomllib


class Configured(Case):
    def toml(self, text, name="options.toml"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return name

    def with_variables(self, *arguments, **variables):
        """Runs the command with these variables of the subcommand: SWEEP_SEED="7"; with None, without that variable."""
        environment = {**self.environment(),
                       **{"WIREPROOF_" + name: value for name, value in variables.items()}}
        environment = {name: value for name, value in environment.items() if value is not None}
        return self.run_command(*arguments, env=environment)

    def printed(self, ended):
        """The lines of --print-config by their keys; those that are comments begin with "# "."""
        self.assertEqual((ended.code, ended.err), (0, ""))
        return {line.split(" = ")[0].split(" is not set")[0]: line
                for line in ended.out.splitlines()[3:]}


class AnOptionComesFromThreePlaces(Configured):
    def test_a_flag_wins_over_a_variable_and_a_variable_over_the_file(self):
        file = self.toml("[sweep]\nseed = 1\nprotocol = \"pcie\"\nber = 1e-6\npackets = 5000\n")
        sweep = ("sweep", "--config", file, "--json")
        seeds = [
            self.run_command(*sweep), self.with_variables(*sweep, SWEEP_SEED="2"),
            self.with_variables(*sweep, "--seed", "3", SWEEP_SEED="2")]
        for seed, ended in enumerate(seeds, 1):
            self.assertEqual((ended.code, ended.err), (0, ""))
            self.assertIn(f'"seed":{seed},', ended.out)
            self.assertIn('"protocol":"pcie"', ended.out)

    def test_and_all_three_give_what_the_command_line_gives(self):
        typed = self.run_command("sweep", "--protocol", "hippi6400", "--ber", "1e-6", "--packets", "1e4",
                                 "--clean-back", "--no-timing", "--payload", "1024", "--seed", "9")
        file = self.toml("[sweep]\nprotocol = \"hippi6400\"\nber = 1e-6\npackets = 1e4\n"
                         "clean-back = true\n")
        ended = self.with_variables("sweep", "--config", file, "--seed", "9",
                                    SWEEP_NO_TIMING="true", SWEEP_PAYLOAD="1024")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertEqual(ended.out, typed.out)

    def test_a_required_option_may_come_from_there(self):
        ended = self.with_variables("recv", "--out", "copy", "--wait", "0.1",
                                    RECV_LISTEN="127.0.0.1:0")
        self.assertEqual(ended.code, 1)
        self.assertIn("listening on 127.0.0.1:", ended.err)

    def test_json_may_come_from_there_and_can_be_undone(self):
        file = self.toml("[sp2]\njson = true\n")
        self.assertIn('"schema"', self.run_command("sp2", "--config", file).out)
        self.assertNotIn("{", self.run_command("sp2", "--config", file, "--json=false").out)
        self.assertNotIn("{", self.with_variables("sp2", "--config", file, SP2_JSON="false").out)
        file = self.toml("[carry]\njson = true\n")
        ended = self.run_command("carry", "--config", file, "nowhere")
        self.assertEqual(ended.code, 1)
        self.assertIn('"error"', ended.out)

    def test_a_flag_with_two_names(self):
        file = self.toml("[search]\ndamage = false\nstates = 20\n")
        lines = self.printed(self.run_command("search", "--config", file, "--print-config"))
        self.assertTrue(lines["damage"].startswith("damage = false  # file "))
        typed = self.run_command("search", "pcie", "--no-damage", "--no-timing")
        self.toml("[search]\ndamage = false\nno-timing = true\n")
        self.assertEqual(self.run_command("search", "pcie", "--config", file).out, typed.out)
        self.assertNotEqual(self.run_command("search", "pcie", "--no-timing").out, typed.out)

    def test_a_value_that_looks_like_an_option(self):
        file = self.toml("[carry]\nout = \"--json\"\n")
        ended = self.run_command("carry", self.file(100), "--config", file, "--wire", "sim")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.same_bytes(self.path("file.bin"), self.path("--json"))


class TheUsersFileIsRead(Configured):
    def users_file(self, text, folder):
        os.makedirs(self.path(folder + "/wireproof"))
        self.toml(text, folder + "/wireproof/config.toml")
        return self.path(folder + "/wireproof/config.toml")

    def seed_of(self, *arguments, **environment):
        ended = self.run_command("sweep", "--print-config", *arguments, env={
            **{name: value for name, value in self.environment().items()
               if name not in ("XDG_CONFIG_HOME", "HOME")}, **environment})
        return self.printed(ended).get("seed", "")

    def test_in_the_folder_of_configuration(self):
        path = self.users_file("[sweep]\nseed = 5\n", "config")
        self.assertEqual(self.seed_of(XDG_CONFIG_HOME=self.path("config")),
                         f"seed = 5  # file {path}:2:8")
        # A relative path is none.
        self.assertEqual(self.seed_of(XDG_CONFIG_HOME="config"), "")
        self.assertEqual(self.seed_of(XDG_CONFIG_HOME=self.path("other")), "")

    def test_else_in_dot_config_of_the_home(self):
        self.users_file("[sweep]\nseed = 6\n", ".config")
        self.assertIn("seed = 6", self.seed_of(HOME=self.folder))
        self.assertEqual(self.seed_of(HOME=self.folder, XDG_CONFIG_HOME=self.path("none")), "")

    def test_but_not_beside_another(self):
        self.users_file("[sweep]\nseed = 6\nprotocol = \"rc\"\n", "config")
        file = self.toml("[sweep]\nseed = 7\n")
        ended = self.run_command("sweep", "--print-config", "--config", file, env={
            **self.environment(), "XDG_CONFIG_HOME": self.path("config")})
        lines = self.printed(ended)
        self.assertIn("seed = 7", lines["seed"])
        self.assertNotIn("protocol", lines)

    def test_help_is_printed_even_if_it_has_a_mistake(self):
        self.users_file("[swep]\n", "config")
        environment = {**self.environment(), "XDG_CONFIG_HOME": self.path("config")}
        for words in (("sweep", "--help"), ("--help",), ("help", "sweep"), ("--version",)):
            ended = self.run_command(*words, env=environment)
            self.assertEqual((ended.code, ended.err), (0, ""))
        self.expect_failure(self.run_command("sweep", "--ber", "0", env=environment), 2,
                            "config.toml:1:2")


class AMistakeIsToldWithItsPlace(Configured):
    def refuses(self, text, *words, subcommand="carry", more=()):
        with self.subTest(text):
            ended = self.run_command(subcommand, "--config", self.toml(text), *more)
            self.expect_failure(ended, 2, *words)
            self.assertEqual(ended.out, "")

    def test_in_a_file(self):
        self.refuses("[carry]\nmtu = 99\n", 'options.toml:2:7: "mtu": 99 is not a whole number')
        self.refuses("[carry]\nmtu = \"big\"\n", 'options.toml:2:7: "mtu": big is not')
        self.refuses("[carry]\nloss = nan\n", 'options.toml:2:8: "loss": nan is not')
        self.refuses("[carry]\nwire = \"tin\"\n", 'options.toml:2:8: "wire": tin', "udp")
        self.refuses("[carry]\n\nmtuu = 9\n", 'options.toml:3:1: unknown key "mtuu" in [carry]',
                     "did you mean mtu?")
        self.refuses("[cary]\nmtu = 9000\n", 'options.toml:1:2: "cary" is no subcommand',
                     "did you mean carry?")
        self.refuses("mtu = 9000\n", 'options.toml:1:1: "mtu" is no subcommand')
        self.refuses("carry = 5\n", 'options.toml:1:9: "carry" must be a table')
        self.refuses("[carry]\njson = 1\n", 'options.toml:2:8: "json" must be true or false')
        self.refuses("[carry]\nout = true\n", 'options.toml:2:7: "out" must be a text or a number')
        self.refuses("[carry]\nseed = [1, 2]\n", "options.toml:2:8: ", "must be a text or a number")
        self.refuses("[carry]\nmtu = \n", "options.toml:2:")
        self.refuses("[[[", "options.toml:1:")
        self.refuses("[carry]\nmtu = 9000\nmtu = 9000\n", "options.toml:3:7: ")
        # Of two mistakes, the first in the file; and a mistake of another subcommand is one, too.
        self.refuses("[sweep]\nbre = 1\n[carry]\nmtuu = 1\n", "options.toml:2:1: ", "ber")

    def test_an_operand_and_the_options_of_configuration_are_no_keys(self):
        for key in ("FILE", "help", "config", "print-config", "no-damage"):
            subcommand = "search" if key == "no-damage" else "carry"
            self.refuses(f"[{subcommand}]\n{key} = true\n", f'unknown key "{key}"', subcommand=subcommand)
        self.refuses("[verbs]\nseed = 1\n", '"verbs" is no subcommand that takes options from this file')
        self.refuses("[help]\n", '"help" is no subcommand')

    def test_a_file_that_is_no_file(self):
        os.mkdir(self.path("folder"))
        with open(self.path("long.toml"), "wb") as file:
            file.truncate((1 << 20) + 1)
        for name in ("nowhere.toml", "folder", "long.toml"):
            self.expect_failure(self.run_command("sp2", "--config", name), 2, "--config: ", name)
        ended = self.run_command("sp2", "--config")
        self.expect_failure(ended, 2, "--config")
        self.expect_failure(self.run_command("sp2", "--config", ""), 2, "--config")

    def test_in_a_variable(self):
        for variable, value, words in (
                ("CARRY_MTU", "99", ["WIREPROOF_CARRY_MTU: 99 is not a whole number"]),
                ("CARRY_MUT", "1500", ["no option of carry has the variable WIREPROOF_CARRY_MUT",
                                       "did you mean WIREPROOF_CARRY_MTU?"]),
                ("CARRY_JSON", "yes", ["WIREPROOF_CARRY_JSON: yes is not true, false"]),
                ("CARRY_PEER_TIMEOUT", "0", ["WIREPROOF_CARRY_PEER_TIMEOUT: 0 is not"]),
                ("CARRY_CONFIG", "x.toml", ["no option of carry has the variable WIREPROOF_CARRY_CONFIG"])):
            with self.subTest(variable):
                ended = self.with_variables("carry", self.file(1), **{variable: value})
                self.expect_failure(ended, 2, *words)

    def test_variables_of_others_are_left_alone(self):
        for variable in ("PEERS", "INTERFACE", "RANK", "SIZE", "JOB", "HOST", "TOKEN",
                         "VERBS_SEED", "SWEEP_NO_SUCH", "RENDEZVOUS", "CARRYX_MTU"):
            lines = self.with_variables("carry", "--print-config", **{variable: "x"})
            self.assertEqual((lines.code, lines.err), (0, ""))
        # An empty variable sets nothing.
        ended = self.with_variables("carry", "--print-config", CARRY_MTU="", CARRY_NO="")
        self.assertIn("# mtu = 1500  # default", ended.out)

    def test_a_mistake_that_shows_later_names_the_place_of_the_option(self):
        file = self.toml("[carry]\nmtu = 200\n")
        ended = self.run_command("carry", self.file(1), "--config", file, "--protocol", "all")
        self.expect_failure(ended, 2, "--mtu", "(--mtu is from options.toml:2:7)")


class WhatHasNoEffectIsLeftOut(Configured):
    """A file is written for many command lines, so not each option has an effect in each."""

    def test_beside_an_option_that_excludes_it(self):
        file = self.toml("[sweep]\nprotocol = \"rc\"\npackets = 2000\nber = 0\nrate = \"800g\"\n")
        ended = self.run_command("sweep", "--config", file, "--preset", "pcie-gen5-x16")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertTrue(ended.out.splitlines()[1].startswith("pcie"), ended.out)
        lines = self.printed(self.run_command("sweep", "--config", file, "--preset",
                                              "pcie-gen5-x16", "--print-config"))
        self.assertEqual(lines["# protocol"], '# protocol = "rc"  # file options.toml:2:12, '
                                              "left out: excluded by --preset")
        self.assertEqual(lines["# rate"], '# rate = "800g"  # file options.toml:5:8, '
                                          "left out: it needs --advise")

    def test_of_two_that_exclude_each_other_the_variable_wins(self):
        file = self.toml("[sweep]\nprotocol = \"rc\"\n")
        lines = self.printed(self.with_variables("sweep", "--config", file, "--print-config",
                                                 SWEEP_PRESET="pcie-gen5-x16"))
        self.assertIn("preset = ", lines["preset"])
        self.assertIn("left out", lines["# protocol"])

    def test_beside_what_makes_it_meaningless(self):
        file = self.toml("[carry]\nrate = 5e6\nmtu = 9000\n")
        typed = self.run_command("carry", self.file(5000), "--wire", "shm", "--json")
        ended = self.run_command("carry", self.file(5000), "--wire", "shm", "--config", file,
                                 "--json")
        self.assertEqual((typed.code, ended.code, ended.err), (0, 0, ""))
        self.assertIn('"mtu":1500', ended.out)
        # A user who types it is told.
        ended = self.run_command("carry", self.file(1), "--wire", "shm", "--config", file,
                                 "--mtu", "9000")
        self.expect_failure(ended, 2, "--mtu has no effect with --wire shm")


class TheConfigurationIsPrinted(Configured):
    def test_with_the_place_of_each_value(self):
        file = self.toml("[carry]\nwire = \"sim\"\nmtu = 9000\nloss = 0.5\n")
        ended = self.with_variables("carry", "--config", file, "--loss", "0.25", "--print-config",
                                    CARRY_PROTOCOL="pcie", CARRY_JSON="1", CARRY_PEER_TIMEOUT=None)
        lines = self.printed(ended)
        for line in ('protocol = "pcie"  # environment WIREPROOF_CARRY_PROTOCOL',
                     'wire = "sim"  # file options.toml:2:8', "mtu = 9000  # file options.toml:3:7",
                     "loss = 0.25  # flag", "json = true  # environment WIREPROOF_CARRY_JSON",
                     "# peer-timeout = 10  # default", "# out is not set"):
            self.assertIn(line, lines.values())
        self.assertNotIn("config", lines)
        self.assertEqual(os.listdir(self.folder), [file])  # nothing has run

    def test_and_is_a_file_that_means_the_same(self):
        """Also with values that TOML cannot write as they were typed."""
        typed = {
            "carry": ["--out", "a \"quoted\" \\ name\x7f\n", "--mtu", "1e4", "--seed",
                      "18446744073709551615", "--ber", "1e-9", "--json"],
            "sweep": ["--seed", "0", "--fec", "off", "--csv", "1.50",
                      "--loop", "007"],
            "search": ["--no-damage", "--reorder", "--rule", "none"],
            "launch": ["-n", "4", "--hosts", "a,b:4", "--keep-going"],
            "stat": ["--every", "0.5", "--tree", "x"],
            "perf": ["--size", "8", "--op", "store", "--congestion", "on"],
            "soak": ["--seconds", "1"], "ladder": ["--svg", "ü.svg"], "inspect": ["--events"],
            "sp2": ["--nodes", "4"], "send": ["--to", "[::1]:7000"], "recv": ["--listen", "::1:7"]}
        for subcommand, options in typed.items():
            with self.subTest(subcommand):
                if subcommand == "recv":
                    options = ["--listen", "[::1]:7"]
                first = self.run_command(subcommand, *options, "--print-config")
                self.assertEqual((first.code, first.err), (0, ""))
                again = self.run_command(subcommand, "--config", self.toml(first.out), "--print-config")
                self.assertEqual((again.code, again.err), (0, ""))
                values = [[line.split("  # ")[0] for line in out.splitlines()
                           if not line.startswith("# ") or "default" in line]
                          for out in (first.out, again.out)]
                self.assertEqual(self.same_numbers(values[0]), self.same_numbers(values[1]))
                self.assertIn("file options.toml:", again.out)
                if sys.version_info >= (3, 11):
                    self.assertEqual(list(tomllib.loads(first.out)), [subcommand])

    @staticmethod
    def same_numbers(lines):
        """1e4 and 10000 are the same number."""
        def plain(line):
            key, _, value = line.partition(" = ")
            is_number = re.fullmatch(r"[\d.e+-]+", value)
            return key, float(value) if is_number else value
        return [plain(line) for line in lines]

    def test_before_the_words_of_a_program(self):
        ended = self.run_command("launch", "--ranks", "2", "--print-config", "--", "sh", "-c", "exit 7")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertRegex(ended.out, r"(?m)^ranks = 2\b")

    def test_without_what_the_subcommand_requires(self):
        for subcommand in ("carry", "send", "recv", "inspect", "launch"):
            ended = self.run_command(subcommand, "--print-config")
            self.assertEqual((ended.code, ended.err), (0, ""))
            self.assertIn(f"\n[{subcommand}]\n", ended.out)

    def test_but_not_if_the_command_line_is_wrong(self):
        for words in (("--mtu", "5"), ("--no-such",), ("--loss",), ("--wire", "tin")):
            ended = self.run_command("carry", "--print-config", *words)
            self.expect_failure(ended, 2, words[0])
            self.assertEqual(ended.out, "")

    def test_a_name_that_is_no_text_cannot_be_printed(self):
        ended = self.finish(self.start("carry", "--print-config", "--out", b"\xff"))
        self.expect_failure(ended, 2, "--out", "not UTF-8")


class TheDeviceHasAConfigurationOfItsOwn(Configured):
    """`verbs` has a file and variables from before: the device itself reads them."""

    def test_it_is_printed_with_the_place_of_each_value(self):
        file = self.toml("loss = 0.25\nseed = 9\nlink = \"infiniband\"\nno_shm = 1\n")
        ended = self.with_variables("verbs", "--config", file, "--receive-buffer", "65536",
                                    "--print-config", VERBS_SEED="7")
        self.assertEqual((ended.code, ended.err), (0, ""))
        for line in ("seed = 7  # environment WIREPROOF_VERBS_SEED", "receive_buffer = 65536  # flag",
                     "loss = 0.25  # file options.toml:1:8", "no_shm = 1  # file options.toml:4:10",
                     'link = "infiniband"  # file options.toml:3:8', "# address is not set"):
            self.assertIn(line + "\n", ended.out)
        again = self.run_command("verbs", "--config", self.toml(ended.out), "--print-config")
        self.assertEqual((again.code, again.err), (0, ""))
        values = [re.findall(r"^(\w+ = \S+)", out, re.M) for out in (ended.out, again.out)]
        self.assertEqual(values[0], values[1])

    def test_a_variable_may_name_the_file(self):
        file = self.toml("seed = 9\n")
        ended = self.with_variables("verbs", "--print-config", VERBS_CONFIG=file)
        self.assertIn("seed = 9  # file options.toml:1:8\n", ended.out)

    def test_a_mistake_is_told_with_its_place(self):
        ended = self.run_command("verbs", "--print-config", "--config", self.toml("seeed = 9\n"))
        self.expect_failure(ended, 2, "options.toml:1:1: ", "seeed")
        ended = self.with_variables("verbs", "--print-config", VERBS_LOSS="2")
        self.expect_failure(ended, 2, "WIREPROOF_VERBS_LOSS: ")
        self.expect_failure(self.run_command("verbs"), 2, "PROGRAM")


class AProcessWithTheRightsOfAnotherReadsNoConfiguration(Configured):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root can give a program to another user")
        # Others must reach the program.
        self.folder = tempfile.mkdtemp(prefix="wireproof-cli-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.chmod(self.folder, 0o755)
        self.program = shutil.copy(WIREPROOF, self.path("wireproof"))
        os.chmod(self.program, stat.S_ISUID | 0o755)
        os.makedirs(self.path("config/wireproof"))
        self.toml("[sweep]\nseed = 5\n", "config/wireproof/config.toml")

    def run_as_nobody(self, *arguments):
        done = subprocess.run(
            [self.program, *arguments], capture_output=True, text=True, timeout=60, check=False,
            user=65534, group=65534, extra_groups=[], cwd=self.folder,
            env={"XDG_CONFIG_HOME": self.path("config"), "WIREPROOF_SWEEP_PAYLOAD": "512",
                 "WIREPROOF_SWEEP_NO_SUCH": "x"})
        return done

    def test_neither_variables_nor_the_users_file(self):
        # This shows that the program has these rights, and so that the test tests them.
        if "nosuid" in subprocess.run(["findmnt", "-no", "OPTIONS", "-T", self.folder], text=True,
                                      capture_output=True, check=False).stdout:
            self.skipTest("the file system gives no rights of another")
        done = self.run_as_nobody("sweep", "--print-config")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("# seed = 1  # default", done.stdout)
        self.assertIn("# payload = 4096  # default", done.stdout)
        done = self.run_as_nobody("sweep", "--print-config", "--config", "config/wireproof/config.toml")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--config is refused", done.stderr)


if __name__ == "__main__":
    unittest.main()
