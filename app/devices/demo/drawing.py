"""Random values in the shapes that the demo world uses."""

from random import Random

# Without 0/O, 1/I/L: a code must be readable from pixels as well.
CODE_LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ"
CODE_DIGITS = "23456789"


def fill(rng: Random, text: str) -> str:
    values = {
        "{n}": str(rng.randrange(10, 60)),
        "{code}": digits(rng, 4),
        "{shelf}": f"{rng.choice('ABCDEF')}{rng.randrange(10, 99)}",
        "{room}": str(rng.randrange(201, 399)),
        "{level}": str(rng.randrange(1, 6)),
        "{ticket}": code(rng),
    }
    for mark, value in values.items():
        text = text.replace(mark, value)
    return text


def phone_number(rng: Random) -> str:
    return f"+1 555 {rng.randrange(100, 1000)} {rng.randrange(1000, 10_000)}"


def mac_address(rng: Random) -> str:
    return ":".join(f"{rng.randrange(256):02X}" for _ in range(6))


def digits(rng: Random, count: int) -> str:
    return "".join(rng.choice(CODE_DIGITS) for _ in range(count))


def code(rng: Random) -> str:
    """Two letters and a digit, twice, such as KT4-QW7."""
    return f"{_code_part(rng)}-{_code_part(rng)}"


def _code_part(rng: Random) -> str:
    return rng.choice(CODE_LETTERS) + rng.choice(CODE_LETTERS) + rng.choice(CODE_DIGITS)
