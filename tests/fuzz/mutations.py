"""Drawn mistakes in files: of bytes, of words, of lines, and of blanks and comments, which mean nothing."""

import random
import re

#: Pieces that readers may take wrongly.
ODD = (
    b"", b"\n", b"\r", b"\r\n", b" ", b"\t", b",", b";", b"|", b'"', b'""', b"#", b"%", b"c", b"~", b"-", b"+", b".",
    b"e", b"0", b"9", b"\x00", b"\xff", b"\xc3\xa9", b"\xef\xbb\xbf", b"\xd9\xa3", b"\x1c", b"\xc2\xa0", b"\x0b",
    b"\xe2\x80\xa8", b"{", b"}", b"<", b">", b"[", b"]", b"'", b"\\",
)  # fmt: skip
#: Words in the place of others.
WORDS = (
    b"0", b"1", b"2", b"3", b"4", b"-1", b"+2", b"007", b"1.5", b".5", b"2.", b"-0", b"1e3", b"1e23", b"1e999",
    b"1e-999", b"nan", b"NaN", b"inf", b"-Infinity", b"9" * 19, b"9" * 40, b"0x1", b"1_0", b"2147483647", b"2147483648",
    b"4294967296", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808", b"18446744073709551615",
    b"18446744073709551616", b"NA", b"None", b"null", b"?", b"1,5", b"a", b"\xc3\xa9", b"\xff", b"x" * 300, b"source",
    b"weight", b"id",
)  # fmt: skip
_WORD = re.compile(rb"[^\s,;|\"<>(){}\[\]:=]+")


def mutated(draw: random.Random, data: bytes, comment: bytes = b"") -> bytes:
    """A file with one to three changes. `comment` is a line that means nothing in this format, if it has such lines."""
    for _ in range(draw.choice([1, 1, 1, 1, 2, 3])):
        kind = draw.choice([_of_bytes, _of_words, _of_words, _of_lines, _of_blanks, _of_blanks, _of_blanks])
        data = kind(draw, data, comment)
    return data


def _of_bytes(draw: random.Random, data: bytes, _: bytes) -> bytes:
    """Bytes that are put in, overwritten, doubled or left out; a file that is cut."""
    place, other = sorted(draw.randrange(len(data) + 1) for _ in range(2))
    near = min(place + draw.choice([1, 2, 4, 8]), len(data))
    return draw.choice(
        [
            data[:place] + draw.choice(ODD) + data[place:],
            data[:place] + draw.choice(ODD) + data[near:],
            data[:place] + data[place:other] * 2 + data[other:],
            data[:place] + data[near:],
            data[:other],
            data[:place] + bytes([draw.randrange(256)]) + data[place + 1 :],
            data[:place] + data[place : place + 1].swapcase() + data[place + 1 :],
        ]
    )


def _of_words(draw: random.Random, data: bytes, _: bytes) -> bytes:
    """Words that are replaced, by others of the file or by odd ones; exchanged; doubled; left out."""
    words = list(_WORD.finditer(data))
    if not words:
        return data
    one, other = draw.choice(words), draw.choice(words)
    first, last = sorted([one, other], key=lambda word: word.start())
    exchanged = data
    if first.end() <= last.start():
        between = data[first.end() : last.start()]
        exchanged = data[: first.start()] + last[0] + between + first[0] + data[last.end() :]
    replacements = (
        other[0],
        other[0],
        draw.choice(WORDS),
        b"%d" % draw.randrange(6),
        one[0] + b" " + one[0],
        b"",
    )
    new = draw.choice(replacements)
    return draw.choice([exchanged, data[: one.start()] + new + data[one.end() :]])


def _of_lines(draw: random.Random, data: bytes, _: bytes) -> bytes:
    """Lines that are doubled, left out, exchanged, joined or shuffled."""
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    how = draw.randrange(5)
    if how == 0:
        lines.insert(other, lines[one])
    elif how == 1:
        del lines[one]
    elif how == 2:
        lines[one], lines[other] = lines[other], lines[one]
    elif how == 3:
        lines[one] = lines[one].rstrip(b"\r\n") + draw.choice([b"", b" ", b"\t", b","])
    else:
        tail = lines[one:]
        draw.shuffle(tail)
        lines[one:] = tail
    return b"".join(lines)


def _of_blanks(draw: random.Random, data: bytes, comment: bytes) -> bytes:
    """Blanks, line ends, comments and a byte order mark, most of which mean nothing."""
    blanks = [match.start() for match in re.finditer(rb"[ \t]", data)] or [len(data)]
    ends = [match.start() for match in re.finditer(rb"\n", data)] or [len(data)]
    at, end = draw.choice(blanks), draw.choice(ends)
    line = draw.choice([comment, comment, b"", b" \t"])
    return draw.choice(
        [
            data[:at] + draw.choice([b" ", b"\t", b"  ", b" \t "]) + data[at + 1 :],
            data[:end] + draw.choice([b" ", b"\t", b"\r"]) + data[end:],
            data[:end] + b"\n" + line + data[end:],
            data[: end + 1] + draw.choice([b" ", b"\t"]) + data[end + 1 :],
            data.replace(b"\n", draw.choice([b"\r\n", b"\r", b" \n"])),
            data.rstrip(b"\n") + draw.choice([b"", b"\r", b"\n\n", b"\n \n"]),
            draw.choice([b"\xef\xbb\xbf", b"\n", b" "]) + data,
        ]
    )


def overwritten(draw: random.Random, data: bytes) -> bytes:
    """A file of binary numbers, with mistakes that mostly keep its length."""
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        size = draw.choice([1, 4, 4, 8, 8])
        place, other = (draw.randrange(0, max(len(data) - size, 0) + 1) for _ in range(2))
        if draw.random() < 0.5:  # where numbers begin, behind a byte
            place, other = place // size * size + 1, other // size * size + 1
        number = draw.choice(
            [0, 1, 2, 3, 4, 5, 255, -1, 2**31 - 1, 2**31, 2**32, 2**40, 2**62, 2**63 - 1, 2**63]
        )
        written = (number % 2 ** (8 * size)).to_bytes(size, "little")
        data = draw.choice(
            [
                data[:place] + written + data[place + size :],
                data[:place] + written + data[place + size :],
                data[:place] + data[other : other + size] + data[place + size :],
                data[:place] + bytes([draw.randrange(256)]) + data[place + 1 :],
                data[:place]
                + draw.choice([data[:place], data[place + size :], b"", data[-8:] + data[place:]]),
            ]
        )
    return data
