"""Speaks the protocol of app/perception/ocr_process.py; the picture says how it behaves.

`die`, `hang`, `babble` and `refuse` do that, `slow WORD` takes 0.3 s, and anything else is its own
text. Every answer ends with how many pictures this process has read.
"""

import os
import sys
import time

from app.domain.screens import Bounds, PictureText, Size, TextLine
from app.perception.ocr_process import ERROR, LENGTH, READY, TEXT


def send(message: bytes) -> None:
    sys.stdout.buffer.write(LENGTH.pack(len(message)) + message)
    sys.stdout.buffer.flush()


def text(words: str, count: int) -> bytes:
    line = TextLine(text=words, bounds=Bounds(left=1, top=2, right=30, bottom=12))
    told = PictureText(lines=(line,), size=Size(width=100, height=200), engine=str(count))
    return TEXT + told.model_dump_json().encode()


def main() -> None:
    if "stillborn" in sys.argv:
        sys.exit(1)
    send(READY)
    count = 0
    while head := sys.stdin.buffer.read(LENGTH.size):
        words = sys.stdin.buffer.read(LENGTH.unpack(head)[0]).decode()
        count += 1
        match words.split()[0]:
            case "die":
                os._exit(3)
            case "hang":
                time.sleep(60)
            case "babble":
                send(b"T{}")
            case "refuse":
                send(ERROR + b"the screenshot is damaged")
            case "slow":
                time.sleep(0.3)
                send(text(words, count))
            case "environment":
                send(text(" ".join(sorted(os.environ)), count))
            case _:
                send(text(words, count))


if __name__ == "__main__":
    main()
