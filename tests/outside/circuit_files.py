"""Reads and writes circuit files by the description of their format, evaluates their circuits on every input, and
computes scores by the definition. Shares no code with the program."""

import copy
import hashlib
import itertools
import json
import math
import zlib
from fractions import Fraction

MAGIC = b"boolshap circuit\n"


class CircuitFile:
    """A header, and nodes as lists: a tag, then numbers."""

    def __init__(self, content):
        assert content[:17] == MAGIC and zlib.crc32(content[:-4]) == int.from_bytes(content[-4:], "little")
        self.version = int.from_bytes(content[17:21], "little")
        length = int.from_bytes(content[21:29], "little")
        self.header = json.loads(content[29 : 29 + length])
        at, end = 29 + length, len(content) - 4
        if "proof" in self.header:
            end -= 32
            assert hashlib.sha256(content[:end]).digest() == content[end : end + 32]
        numbers = {0: 0, 1: 0, 2: 1, 3: 3}
        self.nodes = []
        while at < end:
            tag = content[at]
            count = numbers.get(tag)
            if count is None:
                count = 1 + int.from_bytes(content[at + 1 : at + 5], "little")
            words = [int.from_bytes(content[at + 1 + 4 * k : at + 5 + 4 * k], "little") for k in range(count)]
            self.nodes.append([tag, *words])
            at += 1 + 4 * count
        assert at == end and len(self.nodes) == self.header["nodes"]
        # A forger may set these too.
        self.digest = None
        self.header_text = None
        self.tail = b""

    def copy(self):
        return copy.deepcopy(self)

    def add(self, *node):
        self.nodes.append(list(node))
        self.header["nodes"] += 1
        return len(self.nodes) - 1

    def write(self):
        """The content with correct checksum and digest, unless a digest was set."""
        header = (self.header_text or json.dumps(self.header, separators=(",", ":"))).encode()
        content = MAGIC + self.version.to_bytes(4, "little") + len(header).to_bytes(8, "little") + header
        for tag, *numbers in self.nodes:
            content += bytes([tag]) + b"".join(number.to_bytes(4, "little") for number in numbers)
        if "proof" in self.header:
            content += self.digest or hashlib.sha256(content).digest()
        content += self.tail
        return content + zlib.crc32(content).to_bytes(4, "little")

    def roots(self):
        return [root for _, root in self.header.get("classes", [])] or [self.header["root"]]

    def table(self, root):
        """The value on every input; feature j is bit j of an input's number. An or-gate is true if any child is
        true."""
        features = len(self.header["features"])
        everything = (1 << (1 << features)) - 1
        columns = [sum(1 << k for k in range(1 << features) if k >> j & 1) for j in range(features)]
        values = []
        for tag, *numbers in self.nodes[: root + 1]:
            if tag < 2:
                value = everything if tag else 0
            elif tag == 2:
                value = columns[numbers[0] // 2] ^ (everything if numbers[0] % 2 else 0)
            elif tag == 3:
                chosen = columns[numbers[0]]
                value = chosen & values[numbers[2]] | ~chosen & values[numbers[1]] & everything
            else:
                value = everything if tag == 4 else 0
                for child in numbers[1:]:
                    value = value & values[child] if tag == 4 else value | values[child]
            values.append(value)
        return [values[root] >> k & 1 for k in range(1 << features)]


def scores(table, ones, rows, entity):
    """Base value and Shapley values by their definition; feature j is 1 in `ones[j]` of `rows`."""
    features = len(ones)
    value = {}
    for present in itertools.product([0, 1], repeat=features):
        layer = table
        for j in range(features):
            # Feature j is the lowest remaining bit.
            pairs = zip(layer[0::2], layer[1::2], strict=True)
            if present[j]:
                layer = [pair[entity[j]] * rows for pair in pairs]
            else:
                layer = [lo * (rows - ones[j]) + hi * ones[j] for lo, hi in pairs]
        value[present] = layer[0]
    total = rows**features * math.factorial(features)
    found = []
    for j in range(features):
        score = 0
        for present, without in value.items():
            if not present[j]:
                size = sum(present)
                weight = math.factorial(size) * math.factorial(features - size - 1)
                score += weight * (value[(*present[:j], 1, *present[j + 1 :])] - without)
        found.append(Fraction(score, total))
    return Fraction(value[(0,) * features], rows**features), found
