#!/usr/bin/env python3
"""Fails unless each data member of an engine is in its fingerprint, or in the list of those that are not, with a reason.

  fingerprints_test.py SOURCE_DIR
  fingerprints_test.py --self-test

An engine and its parts are the classes of wireproof/core and wireproof/proto that have a function `fingerprint`. A
member is in the fingerprint if a function whose name begins with `fingerprint`, or a function without arguments of the
same class that it calls, names it. If the type of a member is a struct of the same folder or of core without a function
of its own, the same holds for the members of that struct.

tests/members_beside_fingerprints.txt lists the others. A reason `constant` says that only the constructor sets the
member: the test looks for functions that assign it.
"""
import pathlib
import re
import sys
import typing

LIST = "tests/members_beside_fingerprints.txt"
FOLDERS = ("wireproof/core", "wireproof/proto")
COMMENT_OR_TEXT = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'""", re.S)
PREPROCESSOR = re.compile(r"^\s*#.*$", re.M)
ACCESS = re.compile(r"^\s*(?:public|private|protected)\s*:(?!:)")
TEMPLATE = re.compile(r"^\s*template\s*")
TYPE = re.compile(r"^(?:class|struct|union)\s+(?:\[\[\w+\]\]\s*)?(\w+)(?:\s+final)?\s*(?::[^:].*)?$", re.S)
NO_MEMBER = re.compile(r"^(?:using|typedef|friend|static|enum|class|struct|union|template|explicit|virtual|requires)\b")
DEFINITION = re.compile(r"\b((?:\w+::)+)(~?\w+)\s*\([^;{}]*\)[^;{}()]*\{")
NAME = re.compile(r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*")
MEMBER_CALL = re.compile(r"\.(\w+)\(\)")
CALL = re.compile(r"(?<![\w.>:])(\w+)\(\)")


class Class(typing.NamedTuple):
    where: str  # folder
    name: str  # Outer::Inner
    members: dict  # name -> type
    functions: dict  # name -> bodies of all functions with this name


class Entry(typing.NamedTuple):
    line: int
    constant: bool
    reason: str


def plain(text):
    """The code without comments, contents of texts and lines of the preprocessor."""
    return PREPROCESSOR.sub("", COMMENT_OR_TEXT.sub(lambda found: " " if found[0][0] == "/" else '""', text))


def end_of(text, start):
    """The place after the bracket that closes the one at `start`."""
    pairs = {"{": "}", "(": ")"}
    depth = 0
    for place in range(start, len(text)):
        if text[place] in "{(":
            depth += 1
        elif text[place] in "})":
            depth -= 1
            if depth == 0:
                return place + 1
    raise ValueError(f"{pairs[text[start]]} is missing")


def without_arguments(text):
    """A declaration without the arguments of templates."""
    while True:
        shorter = re.sub(r"<[^<>]*>", "", text)
        if shorter == text:
            return text
        text = shorter


def statements(body):
    """Yields the declarations in a body: (text before the first brace or semicolon, contents of the braces or None)."""
    text, braces, place = "", None, 0
    while place < len(body):
        letter = body[place]
        if letter == ";":
            yield text, braces
            text, braces = "", None
        elif letter == "(":
            end = end_of(body, place)
            text += body[place:end]
            place = end
            continue
        elif letter == "{":
            end = end_of(body, place)
            if braces is None:
                braces = body[place + 1:end - 1]
            head = ACCESS.sub("", text).strip()
            place = end
            if "(" in without_arguments(head.split("=")[0]) or head.startswith("namespace") or head.startswith("extern"):
                yield text, braces
                text, braces = "", None
            continue
        else:
            if braces is None:
                text += letter
            access = ACCESS.match(text)
            if access:
                text = ""
        place += 1


def head_of(text):
    head = text.strip()
    while TEMPLATE.match(head):
        rest = TEMPLATE.sub("", head)
        depth = 0
        for place, letter in enumerate(rest):
            depth += (letter == "<") - (letter == ">")
            if depth == 0:
                break
        head = re.sub(r"^requires\s+[^;{]*?\n", "", rest[place + 1:].strip()).strip()
    return head


def read_class(where, name, body, found):
    members, functions = {}, {}
    for text, braces in statements(body):
        head = head_of(text)
        kind = TYPE.match(head)
        if kind and braces is not None:
            read_class(where, f"{name}::{kind[1]}", braces, found)
            continue
        before = without_arguments(head).split("=")[0]
        if "(" in before:
            called = re.search(r"(~?\w+)\s*\(", before)
            if called and braces is not None:
                functions.setdefault(called[1], []).append(braces)
            continue
        if not before.strip() or NO_MEMBER.match(before):
            continue
        declared = re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$", before.strip())
        if declared and declared.start() > 0:
            members[declared[1]] = head.split("=")[0]
    found[where, name] = Class(where, name, members, functions)


def read_namespace(where, text, found):
    for head, braces in statements(text):
        head = head_of(head)
        if head.startswith("namespace") and braces is not None:
            read_namespace(where, braces, found)
        kind = TYPE.match(head)
        if kind and braces is not None:
            read_class(where, kind[1], braces, found)


def folder_of(path):
    """The folder of a module: its subfolders belong to it."""
    parts = path.split("/")
    return "core" if parts[1] == "core" else "/".join(parts[1:3])


def read_sources(files):
    """`files`: path -> text. Returns (folder, name) -> Class."""
    found = {}
    for path, text in files.items():
        if path.endswith(".hpp"):
            read_namespace(folder_of(path), plain(text), found)
    for path, text in files.items():
        code = without_arguments_of_classes(plain(text))
        for match in DEFINITION.finditer(code):
            owner = match[1].removesuffix("::")
            known = found.get((folder_of(path), owner))
            if known:
                known.functions.setdefault(match[2], []).append(code[match.end() - 1:end_of(code, match.end() - 1)])
    return found


def without_arguments_of_classes(code):
    return re.sub(r"(\w)<[\w, ]*>::", r"\1::", code)


def read_list(text):
    """Returns {(folder, class, member): Entry} and problems. A block is a line `FOLDER CLASS` and indented lines
    `member …: reason`. In a block `*`, the members are those of any class."""
    entries, problems, block = {}, [], None
    lines = re.sub(r"\n {4,}", " ", text).splitlines()
    number = 0
    for line in lines:
        number += 1
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith(" "):
            block = tuple(line.split())
            if block != ("*",) and len(block) != 2:
                problems.append(f"{LIST}: \"{line}\" is no folder and class")
                block = None
            continue
        names, colon, reason = line.strip().partition(": ")
        if block is None or not colon or not reason.strip():
            problems.append(f"{LIST}: \"{line.strip()}\" has no reason")
            continue
        for name in names.split():
            key = ("*", "*", name) if block == ("*",) else (*block, name)
            if key in entries:
                problems.append(f"{LIST}: {' '.join(key)} is there twice")
            entries[key] = Entry(number, reason.strip() == "constant", reason)
    return entries, problems


def fingerprint_of(one):
    """The text of all functions that make the fingerprint, or None."""
    names = [name for name in one.functions if name.startswith("fingerprint")]
    if "fingerprint" not in names and not names:
        return None
    taken, text = set(), ""
    while names:
        name = names.pop()
        if name in taken:
            continue
        taken.add(name)
        for body in one.functions.get(name, []):
            text += body
            names += [call for call in CALL.findall(body) if call in one.functions]
    return text


def assigns(one, member):
    """The name of a function that assigns the member, or None."""
    assigned = re.compile(rf"(?<![\w.>:])(?:(?:\+\+|--){member}\b|{member}(?:\.\w+)*\s*(?:=(?!=)|[-+*/|&^%]=|\+\+|--))")
    constructor = one.name.split("::")[-1]
    for name, bodies in one.functions.items():
        if name != constructor and any(assigned.search(body) for body in bodies):
            return name
    return None


def check(files, listed):
    classes = read_sources(files)
    entries, problems = read_list(listed)
    used = set()

    def resolve(where, name, kind):
        """The struct without a fingerprint of its own that a type names."""
        outer = name.split("::")
        for depth in range(len(outer), -1, -1):
            for folder in (where, "core"):
                one = classes.get((folder, "::".join([*outer[:depth], kind])))
                if one:
                    return one
        return None

    def need(one, owner, text, seen):
        """Checks the members of `one`, which the fingerprint of `owner` must name."""
        for member, kind in one.members.items():
            keys = [(one.where, one.name, member), ("*", "*", member)]
            key = next((key for key in keys if key in entries), None)
            named = re.search(rf"\b{member}\b", text)
            if key:
                used.add(key)
                if named and key[0] != "*" and not entries[key].constant:
                    problems.append(f"{LIST}: {' '.join(key)} is in the fingerprint")
                changer = assigns(one, member) if entries[key].constant and not named else None
                if changer:
                    problems.append(f"{one.where} {one.name} {member} is no constant: {changer} assigns it")
                continue
            if not named:
                problems.append(f"{one.where} {one.name} {member}: not in the fingerprint of {owner.name}, "
                                f"and not in {LIST}")
                continue
            for name in NAME.findall(kind.rsplit(member, 1)[0]):
                part = resolve(one.where, one.name, name)
                if part and part.members and fingerprint_of(part) is None and part.name not in seen:
                    called = [body for call in MEMBER_CALL.findall(text) for body in part.functions.get(call, [])]
                    need(part, owner, text + "".join(called), seen | {part.name})

    checked = 0
    for one in classes.values():
        text = fingerprint_of(one)
        if text is None:
            continue
        checked += len(one.members)
        need(one, one, text, {one.name})
    for key in entries:
        if key not in used:
            problems.append(f"{LIST}: no class needs {' '.join(key)}")
    return problems, checked


def files_of(root):
    return {str(path.relative_to(root)): path.read_text()
            for folder in FOLDERS for path in sorted((root / folder).rglob("*.[hc]pp"))
            if not path.stem.endswith(("_test", "_test_kit"))}


ENGINE = {
    "wireproof/core/part.hpp": """
namespace wireproof {
struct Mark { int kind = 0; };
template <class Name, int Count> class Timers {
public:
    void set(Name name) { at_[0] = name; }
    void fingerprint(Fingerprint& sink) const { for (auto at : at_) sink.add(at); }
private:
    std::array<Name, Count> at_;  // not { a } brace: } of a comment
};
}""",
    "wireproof/proto/x/engine.hpp": """
namespace wireproof::x {
class Engine {
public:
    explicit Engine(const Config& config) : config_(config), size_{config.size} {}
    enum class State : std::uint8_t { off, on };
    std::uint32_t taken() const { return taken_; }
    void fingerprint(Instant now, Fingerprint& sink) const;
private:
    static constexpr int most = 3;
    struct Entry { int place = 0; std::function<void(int)> done; };
    bool taken(int which) const;
    Config config_;
    std::uint32_t size_;
    std::uint32_t taken_ = 0;
    Timers<State, 2> timers_;
    std::vector<Entry> entries_{};
    Mark mark_;
    State state_ = State::off;
};
}""",
    "wireproof/proto/x/engine.cpp": """
namespace wireproof::x {
bool Engine::taken(int which) const { return which < most; }
void Engine::fingerprint(Instant now, Fingerprint& sink) const {
    timers_.fingerprint(sink);
    sink.add(state_);
    sink.add(taken());
    for (const Entry& entry : entries_) sink.add(entry.place);
    sink.add(mark_.kind);
}
}""",
}
ENGINE_LIST = """# comment
*
  config_: constant
proto/x Engine
  size_: constant
proto/x Engine::Entry
  done: a function
    of the caller
"""
FAULTS = [  # what is changed in which file, and the problem that must be found
    ("engine.cpp", "    sink.add(state_);\n", "", "Engine state_: not in the fingerprint"),
    ("engine.cpp", "    timers_.fingerprint(sink);\n", "", "Engine timers_: not in the fingerprint"),
    ("engine.cpp", "    sink.add(taken());\n", "", "Engine taken_: not in the fingerprint"),
    ("engine.cpp", "sink.add(entry.place)", "sink.add(entry.other)", "Engine::Entry place: not in"),
    ("engine.cpp", "    sink.add(mark_.kind);", "    mark_;", "Mark kind: not in the fingerprint of Engine"),
    ("engine.hpp", "    Mark mark_;", "    Mark mark_;\n    bool seen_ = false;", "Engine seen_: not in"),
    ("engine.hpp", "    Mark mark_;", "    Mark mark_;\n    bool seen_{false};", "Engine seen_: not in"),
    ("engine.hpp", "    Mark mark_;", "    Mark mark_;\n    std::array<int, 2> seen_[3];", "Engine seen_: not in"),
    ("part.hpp", "    std::array<Name", "    Name last_;\n    std::array<Name", "core Timers last_: not in"),
    ("engine.hpp", "    Config config_;", "    void grow() { ++size_; }\n    Config config_;", "size_ is no constant: grow"),
    ("engine.hpp", "    Config config_;", "    void set() { config_.size = 1; }\n    Config config_;",
     "config_ is no constant: set"),
    ("list", "  size_: constant\n", "", "Engine size_: not in the fingerprint"),
    ("list", "  size_: constant\n", "  size_:\n", "has no reason"),
    ("list", "  size_: constant\n", "  size_ state_: why\n", "proto/x Engine state_ is in the fingerprint"),
    ("list", "  size_: constant\n", "  size_ gone_: why\n", "no class needs proto/x Engine gone_"),
    ("list", "  size_: constant\n", "  size_ size_: constant\n", "size_ is there twice"),
    ("list", "proto/x Engine\n", "Engine\n", "is no folder and class"),
]


def self_test():
    wrong = []
    problems, checked = check(ENGINE, ENGINE_LIST)
    if problems or checked != 8:
        wrong.append(f"without a fault: {checked} members, {problems}")
    for where, text, other, expected in FAULTS:
        files = {path: content.replace(text, other) if path.endswith(where) else content
                 for path, content in ENGINE.items()}
        listed = ENGINE_LIST.replace(text, other) if where == "list" else ENGINE_LIST
        if (files, listed) == (ENGINE, ENGINE_LIST):
            wrong.append(f"{text!r} is not in {where}")
        problems, _ = check(files, listed)
        if not any(expected in problem for problem in problems):
            wrong.append(f"{where}: {text!r} -> {other!r}: {problems}")
    print("\n".join([*wrong, f"{len(FAULTS)} faults, {len(wrong)} not found"]))
    return 1 if wrong else 0


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    root = pathlib.Path(sys.argv[1])
    problems, checked = check(files_of(root), (root / LIST).read_text())
    print("\n".join([*problems, f"{checked} members, {len(problems)} problems"]))
    return 1 if problems or checked < 300 else 0


if __name__ == "__main__":
    sys.exit(main())
