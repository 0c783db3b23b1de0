"""The reading process: takes pictures on its standard input and answers with their text.

Started by ocr.py as `python -m`. A message is four bytes of length, most significant first, and
that many bytes. Every answer begins with a letter: R ready, T text (JSON of PictureText), E why a
picture has none. The process ends when its input does, so it cannot outlive who started it.
"""

from __future__ import annotations

import os
import queue
import struct
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from app.domain.screens import Bounds, PictureText, Size, TextLine
from app.perception.drawn import in_rows
from app.perception.picture import open_picture
from app.perception.text import tidy

LENGTH = struct.Struct(">I")
READY, TEXT, ERROR = b"R", b"T", b"E"
NICENESS = 15
MAX_LINE = 1_000
MODELS = {"Det.model_path": "PP-OCRv6_det_small.onnx", "Rec.model_path": "PP-OCRv6_rec_small.onnx"}
"""Inside the package: given by path, none is ever looked for elsewhere."""


class Found(Protocol):
    """What rapidocr gives for one picture; all three are None where it found nothing."""

    boxes: Any
    txts: tuple[str, ...] | None
    scores: tuple[float, ...] | None


def main() -> None:
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    # Whatever a library prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    pictures: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=receive, args=(sys.stdin.buffer, pictures), daemon=True).start()
    engine = load()
    send(answers, READY)
    while True:
        send(answers, answer(engine, pictures.get()))


def receive(source: BinaryIO, pictures: queue.SimpleQueue[bytes]) -> None:
    """Takes pictures until the input ends; then the whole process ends, busy or not."""
    while len(head := source.read(LENGTH.size)) == LENGTH.size:
        (size,) = LENGTH.unpack(head)
        if len(data := source.read(size)) < size:
            break
        pictures.put(data)
    os._exit(0)


def send(answers: BinaryIO, message: bytes) -> None:
    answers.write(LENGTH.pack(len(message)) + message)
    answers.flush()


def stay_offline(event: str, _: tuple[object, ...]) -> None:
    """An audit hook: nothing in this process has any business on a network."""
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise PermissionError("the reading process stays offline")


def load() -> Callable[[Any], Found]:
    """The reader with the models of its own package, on one thread."""
    sys.addaudithook(stay_offline)
    package = import_module("rapidocr")
    import_module("cv2").setNumThreads(1)
    folder = Path(str(package.__file__)).parent / "models"
    params: dict[str, object] = {
        # It turns lines upside down that it takes for rotated; a screen has none.
        "Global.use_cls": False,
        "Global.log_level": "critical",
        "EngineConfig.onnxruntime.intra_op_num_threads": 1,
        "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        **{name: str(folder / file) for name, file in MODELS.items()},
    }
    engine: Callable[[Any], Found] = package.RapidOCR(params=params)
    return engine


def answer(engine: Callable[[Any], Found], data: bytes) -> bytes:
    begun = time.monotonic()
    image, problem = open_picture(data)
    if image is None:
        return ERROR + problem.encode()
    # Blue first, as OpenCV has it.
    found = engine(import_module("numpy").asarray(image)[:, :, ::-1])
    lines = lines_of(found)
    text = PictureText(
        lines=tuple(line for row in in_rows(lines) for line in row),
        size=Size(width=image.width, height=image.height),
        seconds=round(time.monotonic() - begun, 3),
        engine=f"rapidocr {version('rapidocr')}",
    )
    return TEXT + text.model_dump_json().encode()


def lines_of(found: Found) -> list[TextLine]:
    if found.boxes is None or found.txts is None or found.scores is None:
        return []
    lines = []
    for corners, text, score in zip(found.boxes, found.txts, found.scores, strict=True):
        across, down = [float(x) for x, _ in corners], [float(y) for _, y in corners]
        bounds = Bounds(
            left=round(min(across)),
            top=round(min(down)),
            right=round(max(across)),
            bottom=round(max(down)),
        )
        if words := tidy(text, MAX_LINE):
            lines.append(TextLine(text=words, bounds=bounds, score=round(float(score), 3)))
    return lines


if __name__ == "__main__":
    main()
