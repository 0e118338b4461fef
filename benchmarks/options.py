"""Options of benchmarks that take names or numbers by commas."""

import argparse
from collections.abc import Iterable
from functools import partial


def names_of(text: str, known: Iterable[str], separator: str = ",", may_be_none: bool = False) -> list[str]:
    """Names in a text, each of which is known and there once.

    Args:
        text: the names.
        known: all that there are.
        separator: what is between them.
        may_be_none: whether an empty text stands for no names.

    Raises:
        argparse.ArgumentTypeError: if it is something else.
    """
    known = list(known)
    if not text and may_be_none:
        return []
    names = text.split(separator)
    wrong = [name for name in dict.fromkeys(names) if name not in known or names.count(name) > 1]
    if wrong:
        raise argparse.ArgumentTypeError(
            f"unknown, or there twice: {', '.join(map(repr, wrong))}; expected some of {separator.join(known)}"
        )
    return names


def add_names(
    parser: argparse.ArgumentParser,
    option: str,
    known: Iterable[str],
    separator: str = ",",
    may_be_none: bool = False,
    what: str = "names",
) -> None:
    """Add an option whose value is a list of names, by default all that are known; see `names_of`."""
    known = list(known)
    between = {",": "commas", ";": "semicolons"}[separator]
    empty = "; '' for none" * may_be_none
    parser.add_argument(
        option,
        type=partial(names_of, known=known, separator=separator, may_be_none=may_be_none),
        default=known,
        metavar="NAMES",
        help=f"{what}, by {between}{empty} (default: {separator.join(known)})",
    )


def add_device(parser: argparse.ArgumentParser, default: str = "cuda", what: str = "") -> None:
    """Add the option ``--device``, which is "cpu" or "cuda"."""
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), default=default, help=f"{what}(default: %(default)s)"
    )


def checked(
    parser: argparse.ArgumentParser, option: str, text: str, known: Iterable[str], separator: str = ","
) -> list[str]:
    """The names of an option where those that are known depend on others: an error ends the process."""
    try:
        return names_of(text, known, separator)
    except argparse.ArgumentTypeError as error:
        parser.error(f"argument {option}: {error}")


def numbers(text: str) -> list[int]:
    """Numbers by commas, as an argument of a command."""
    try:
        return [int(each) for each in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not numbers by commas, such as 20,22") from None
