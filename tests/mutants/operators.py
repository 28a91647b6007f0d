"""Finds the places of a C++ source where a defect can be put in, and what the defect is there.

The source is formatted by clang-format, and this is no parser of C++: it reads tokens, and finds functions and their
statements by brackets and keywords. A defect that does not compile costs a build, and no more. Comments, texts and
preprocessor lines are skipped, and so is what the compiler alone decides (static_assert, template arguments) and
WIREPROOF_CHECK, which only a defect of the library itself reaches.
"""
import re
import typing

DELETE = "delete a statement"
NEGATE = "negate a condition"
NUMBER = "one more or one less"
RELATION = "another relation"
LOGIC = "and for or"
RETURN = "return early"
SWAP = "swap neighbours"
CONSTANT = "true for false"
NOT = "drop a not"

TOKEN = re.compile(r"""
    (?P<skipped>\s+ | //[^\n]* | /\*.*?\*/ | \#(?:\\\n|[^\n])*)
  | (?P<text>(?:u8|[uUL])?R"(?P<fence>[^()\\\s]*)\(.*?\)(?P=fence)" | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*"
            | (?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
  | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<sign><=>|<<=|>>=|->\*|\.\.\.|::|->|\+\+|--|<<|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
""", re.VERBOSE | re.DOTALL)
KINDS = ("skipped", "text", "number", "name", "sign")
INTEGER = re.compile(r"(0[xX][\da-fA-F']+|0[bB][01']+|\d[\d']*)([uUlLzZ]*)")
RELATIONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
LOGICAL = {"&&": "||", "||": "&&"}
CLOSED_BY = {"(": ")", "[": "]", "{": "}"}
# Their parentheses hold nothing that runs, or only what no test can reach.
NOT_RUN = {"static_assert", "WIREPROOF_CHECK", "noexcept", "sizeof", "alignas", "alignof", "decltype", "requires"}
CONTROL = {"if", "for", "while", "switch", "return", "catch"}
SYMMETRIC = {"min", "max", "swap"}
DECLARES = {"const", "constexpr", "static", "auto", "struct", "class", "enum", "unsigned", "thread_local"}
BEFORE_BODY = {")", "}", "const", "noexcept", "override", "final", "&", "&&"}
LEAVES = {"return", "case", "default", "break", "continue"}  # before it, an early return changes nothing or too little
BEFORE_TYPE = {"inline", "constexpr", "explicit", "virtual", "static", "friend", "public", "private", "protected", ":",
               "template", "extern", "[", "]", "nodiscard"}


class Defect(typing.NamedTuple):
    operator: str
    begin: int  # offsets in the text that `replacement` takes the place of
    end: int
    replacement: str


class Token(typing.NamedTuple):
    kind: str
    text: str
    begin: int
    end: int


class Source:
    def __init__(self, text):
        self.text = text
        self.tokens = []
        for found in TOKEN.finditer(text):
            kind = next(kind for kind in KINDS if found[kind] is not None)
            if kind != "skipped":
                self.tokens.append(Token(kind, found[0], found.start(), found.end()))
        self.partner = {}
        self.match_brackets()
        self.defects = []

    def match_brackets(self):
        open_ones = []
        for at, token in enumerate(self.tokens):
            if token.kind != "sign":
                continue
            if token.text in CLOSED_BY:
                open_ones.append(at)
            elif token.text in CLOSED_BY.values() and open_ones:
                begin = open_ones.pop()
                self.partner[begin], self.partner[at] = at, begin
        for at, token in enumerate(self.tokens):
            # As clang-format writes it, the bracket of template arguments follows its name at once.
            if token.text == "<" and at and (self.is_template(at)):
                end = self.end_of_template(at)
                if end:
                    self.partner[at] = end

    def is_template(self, at):
        before = self.tokens[at - 1]
        return before.text == "template" or (before.kind == "name" and before.end == self.tokens[at].begin)

    def end_of_template(self, at):
        depth = 0
        while at < len(self.tokens) and self.word(at) not in (";", "{"):
            depth += {"<": 1, ">": -1}.get(self.word(at), 0)
            if depth == 0:
                return at
            at = self.partner[at] + 1 if self.word(at) in ("(", "[") and at in self.partner else at + 1
        return None

    def word(self, at):
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""

    def after(self, at):
        """The token after this one, or after the bracket that begins here."""
        opens = self.word(at) in CLOSED_BY or (self.word(at) == "<" and at in self.partner)
        return self.partner.get(at, at) + 1 if opens else at + 1

    def find(self, at, end, *words):
        """The first of these words between the two places and outside of brackets; `end`: there is none."""
        while at < end:
            if self.word(at) in words:
                return at
            at = self.after(at)
        return end

    def slice(self, begin, end):
        """The text from one token until another one, which is not part of it."""
        return self.text[self.tokens[begin].begin:self.tokens[end - 1].end]

    def add(self, operator, begin, end, replacement):
        """Puts the replacement in the place of the tokens from begin until end."""
        self.defects.append(Defect(operator, self.tokens[begin].begin, self.tokens[end - 1].end, replacement))

    # Namespaces and classes.

    def members(self, at, end):
        while at < end:
            at = self.member(at, end)

    def member(self, head, end):
        at, valued = head, True
        while at < end and self.word(at) != ";":
            if self.word(at) != "{":
                at = self.after(at)
                continue
            inside, close = at + 1, self.partner.get(at, end)
            kind = self.kind_of_brace(head, at)
            if kind in ("namespace", "type"):
                self.members(inside, close)
            elif kind == "enumeration":
                self.expression(inside, close)
            elif kind == "function":
                parameters = self.find(head, at, "(")
                self.expression(self.find(parameters, at, ":"), at)  # of the members, before a constructor
                self.body(inside, close, self.returns(head, at))
            if kind in ("namespace", "function"):
                return close + 1
            at, valued = close + 1, kind == "list"
        if valued:
            self.initial_value(head, at)
        return at + 1

    def kind_of_brace(self, head, at):
        words = [self.word(place) for place in self.outside_brackets(head, at)]
        before = self.word(at - 1)
        if "namespace" in words or (words[:1] == ["extern"] and len(words) == 2):
            return "namespace"
        assigned = any(word == "=" and before != "operator" for before, word in zip(["", *words], words))
        if "concept" in words or assigned:
            return "list"
        if "(" in words and (before in BEFORE_BODY or "->" in words):
            return "function"
        if "enum" in words:
            return "enumeration"
        return "type" if {"class", "struct", "union"} & set(words) else "list"

    def outside_brackets(self, at, end):
        while at < end:
            yield at
            at = self.after(at)

    def returns(self, head, end):
        """What an early return gives: "" for void, "{}", or None if there can be none."""
        opens = self.find(head, end, "(")
        before = [self.word(at) for at in self.outside_brackets(head, opens)]
        if "operator" in before:
            before = before[:before.index("operator") + 1]
        while len(before) > 2 and before[-2] == "::":
            del before[-2:]
        kind = [word for word in before[:-1]
                if word not in BEFORE_TYPE and not word.startswith(("[", "<", "WIREPROOF"))]
        if not kind or kind[-1] in ("&", "~", "auto"):
            return None
        return {"void": "", "bool": "false"}.get(kind[-1], "{}")

    def initial_value(self, head, end):
        if head >= end or self.word(head) in ("using", "static_assert", "friend", "typedef", "template", "virtual"):
            return
        at = self.find(head, end, "=", "{")
        if self.word(at - 1) != "operator" and self.word(at + 1) not in ("default", "delete"):
            self.expression(at, end)

    # Functions.

    def body(self, at, end, returned):
        if returned is not None and at < end and self.word(at) not in LEAVES:
            begin = self.tokens[at].begin
            self.defects.append(Defect(RETURN, begin, begin, f"return {returned}; ".replace(" ;", ";")))
        while at < end:
            at = self.statement(at, end, returned)

    def statement(self, at, end, returned):
        word = self.word(at)
        if word == ";":
            return at + 1
        if word == "{":
            self.body(at + 1, self.partner[at], returned)
            return self.partner[at] + 1
        if word in ("if", "for", "while", "switch"):
            opens = at + 2 if self.word(at + 1) == "constexpr" else at + 1
            close = self.partner[opens]
            self.condition(word, opens + 1, close)
            return self.statement(close + 1, end, returned)
        if word in ("else", "do", "try"):
            return self.statement(at + 1, end, returned)
        if word in ("case", "default"):
            return self.find(at, end, ":") + 1
        stop = self.find(at, end, ";")
        self.simple(at, stop, returned)
        return stop + 1

    def condition(self, word, begin, end):
        parts = [begin]
        while (stop := self.find(parts[-1], end, ";")) < end:
            parts.append(stop + 1)
        self.expression(begin, end)
        at = parts[1] if word == "for" and len(parts) == 3 else parts[-1]
        stop = self.find(at, end, ";")
        words = [self.word(place) for place in self.outside_brackets(at, stop)]
        if word == "switch" or (word == "for" and len(parts) < 3) or not words or "=" in words:
            return
        # The defects of the expression are the same one.
        simple = words[0] == "!" or {"==", "!="} & set(words) or words in (["true"], ["false"])
        if simple and not {"&&", "||"} & set(words):
            return
        self.add(NEGATE, at, stop, f"!({self.slice(at, stop)})")

    def simple(self, at, end, returned):
        first = self.word(at)
        if first in ("static_assert", "using", "typedef", "WIREPROOF_CHECK", "goto") or at >= end:
            return
        if first in ("break", "continue"):
            self.add(DELETE, at, end, "")
            return
        if first == "return":
            self.expression(at + 1, end)
            words = [self.word(place) for place in self.outside_brackets(at + 1, end)]
            single = len(words) < 2 or words[0] == "!" or {"==", "!="} & set(words)
            if returned == "false" and (not single or {"&&", "||"} & set(words)):
                self.add(NEGATE, at + 1, end, f"!({self.slice(at + 1, end)})")
            return
        named = self.name_of_declaration(at, end)
        if named is None and self.slice(at, end)[:6] != "(void)":
            self.add(DELETE, at, end, "")
        self.expression(at if named is None else named, end)

    def name_of_declaration(self, at, end):
        """The place of the name that the statement declares; None: it is an expression."""
        if self.word(at) in DECLARES:
            return self.find(at, end, "=", "{", "(")
        while self.tokens[at].kind == "name" and at + 1 < end:
            following = self.after(at + 1) if self.word(at + 1) == "<" and at + 1 in self.partner else at + 1
            if self.word(following) == "::":
                at = following + 1
                continue
            while self.word(following) in ("&", "*", "&&"):
                following += 1
            pointed = self.word(following - 1) in ("&", "*", "&&")
            apart = self.tokens[following].begin > self.tokens[following - 1].end
            named = self.tokens[following].kind == "name" and apart
            return following if named and (not pointed or self.word(following + 1) in ("=", "{", ":")) else None
        return None

    # Expressions.

    def expression(self, at, end):
        while at < end:
            token = self.tokens[at]
            if token.text in NOT_RUN and self.word(at + 1) == "(":
                at = self.after(at + 1)
                continue
            if (token.text == "<" and at in self.partner) or (token.text == "[" and self.word(at + 1) == "["):
                at = self.after(at)
                continue
            if token.text == "{" and self.is_lambda(at):
                self.body(at + 1, self.partner[at], None)
                at = self.after(at)
                continue
            if token.text == "(" and self.word(at - 1) == "]":  # the parameters of a lambda
                at = self.after(at)
                continue
            self.change(at, token, end)
            at += 1

    def is_lambda(self, at):
        before = self.word(at - 1)
        if before == ")":
            return self.word(self.partner[at - 1] - 1) == "]"
        return before in ("]", "mutable", "noexcept")

    def change(self, at, token, end):
        text = token.text
        apart = 0 < at < len(self.tokens) - 1 and \
            self.tokens[at - 1].end < token.begin and token.end < self.tokens[at + 1].begin
        if token.kind == "number":
            self.change_number(at, text)
        elif text in ("true", "false"):
            self.add(CONSTANT, at, at + 1, "false" if text == "true" else "true")
        elif text in RELATIONS and apart and self.word(at - 1) != "operator":
            self.add(RELATION, at, at + 1, RELATIONS[text])
        elif text in LOGICAL and apart:
            self.add(LOGIC, at, at + 1, LOGICAL[text])
        elif text == "!":
            self.add(NOT, at, at + 1, "")
        elif text == "?":
            self.swap_ternary(at, end)
        elif text == "{" or (text == "(" and at and (self.tokens[at - 1].kind == "name" or self.word(at - 1) == ">")
                             and self.word(at - 1) not in CONTROL | SYMMETRIC):
            self.swap_items(at)

    def change_number(self, at, text):
        found = INTEGER.fullmatch(text)
        if not found:
            return
        digits = found[1].replace("'", "")
        if digits.isdigit() and (digits == "0" or digits[0] != "0"):
            value = int(digits)
            self.add(NUMBER, at, at + 1, f"{value + 1}{found[2]}")
            if value > 0:
                self.add(NUMBER, at, at + 1, f"{value - 1}{found[2]}")
        else:
            self.add(NUMBER, at, at + 1, f"({text} + 1)")
            self.add(NUMBER, at, at + 1, f"({text} - 1)")

    def swap_ternary(self, at, end):
        depth, middle = 0, at + 1
        while middle < end and not (self.word(middle) == ":" and depth == 0):
            depth += {"?": 1, ":": -1}.get(self.word(middle), 0)
            middle = self.after(middle)
        stop = middle + 1
        while stop < end and self.word(stop) not in (",", ";", ")", "]", "}"):
            stop = self.after(stop)
        if middle < stop <= end and at + 1 < middle and middle + 1 < stop:
            self.swap(NEGATE, (at + 1, middle), (middle + 1, stop))

    def swap_items(self, opens):
        close = self.partner.get(opens, opens)
        items, at = [], opens + 1
        while at < close:
            stop = self.find(at, close, ",")
            items.append((at, stop))
            at = stop + 1
        if any(self.word(begin) == "." or self.find(begin, stop, ";", ":") < stop or self.word(begin) == "["
               for begin, stop in items):
            return
        for one, other in zip(items, items[1:]):
            self.swap(SWAP, one, other)

    def swap(self, operator, one, other):
        if one[0] >= one[1] or other[0] >= other[1]:
            return
        first, second = self.slice(*one), self.slice(*other)
        if first != second:
            between = self.text[self.tokens[one[1] - 1].end:self.tokens[other[0]].begin]
            self.add(operator, one[0], other[1], second + between + first)


def defects_of(text):
    """All defects that can be put into the source, in the order of their places."""
    source = Source(text)
    source.members(0, len(source.tokens))
    return sorted(set(source.defects), key=lambda defect: (defect.begin, defect.end, defect.replacement))
