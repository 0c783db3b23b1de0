"""What was seen: raw views from a device, parsed trees, observations."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import Field

from app.domain.values import Value


class ArtifactRef(Value):
    """A large thing in the artifact store, named by its content."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    media_type: str
    size: int
    """Bytes."""


class Dialect(StrEnum):
    """The format of a UI source."""

    UIAUTOMATOR2 = "uiautomator2"
    """XML with a `node` per view, or with the class as tag name."""
    XCUITEST = "xcuitest"
    """XML with XCUIElementType… tags."""
    DOM = "dom"
    """JSON written by the collector script of devices/collector.js (see perception/dom.py)."""
    HTML = "html"
    """A page source as served; no boxes in it."""
    DROIDBOT = "droidbot"
    """JSON of droidbot states (recorded runs)."""
    ELEMENTS = "elements"
    """JSON list of elements with bounds (recorded runs)."""
    TEXT = "text"
    """Some tool's own text form (recorded runs)."""
    UNKNOWN = "unknown"


class UiSource(Value):
    """A UI tree as the device gave it."""

    dialect: Dialect
    text: str


class Size(Value):
    """Width and height in the unit of the element bounds (CSS px, device px or points)."""

    width: int = Field(ge=0)
    height: int = Field(ge=0)


class Bounds(Value):
    """A box in the unit of the window size; may lie partly or wholly off the screen."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        return self.right - self.left

    @property
    def height(self) -> int:
        return self.bottom - self.top

    @property
    def empty(self) -> bool:
        return self.width <= 0 or self.height <= 0

    def contains(self, x: float, y: float) -> bool:
        return self.left <= x < self.right and self.top <= y < self.bottom


class ElementSource(StrEnum):
    """Where an element came from."""

    TREE = "tree"
    DOM = "dom"
    OCR = "ocr"


class Element(Value):
    """One thing on the screen, the same type for every dialect."""

    index: int
    """Position in the full tree, 0-based; what the model names. Bound to one observation."""
    role: str = ""
    """A short lower-case word: button, text, field, switch, checkbox, image, list, link, …"""
    text: str = ""
    """What a person reads: text, else content description or label. Empty for passwords."""
    hint: str = ""
    """Placeholder or hint of an empty field."""
    value: str = ""
    """Current value of a field, slider or switch, where it differs from the text."""
    resource_id: str = ""
    bounds: Bounds
    enabled: bool = True
    checked: bool | None = None
    """None where the element cannot be checked."""
    focused: bool = False
    selected: bool = False
    password: bool = False
    clickable: bool = False
    editable: bool = False
    scrollable: bool = False
    visible: bool = True
    """In the window, not covered, of a size."""
    package: str = ""
    source: ElementSource = ElementSource.TREE


class TreeStatus(StrEnum):
    """How much of a UI source could be read. `empty` and `failed` are different states."""

    OK = "ok"
    PARTIAL = "partial"
    """Read by the lenient parser, or cut at a bound."""
    EMPTY = "empty"
    """Well-formed, but without any element."""
    FAILED = "failed"
    """Not readable at all, or the device refused it."""


class UiTree(Value):
    """All elements of one observation."""

    status: TreeStatus
    reason: str = ""
    """Why the status is not ok, in words that name what happened."""
    dialect: Dialect = Dialect.UNKNOWN
    elements: tuple[Element, ...] = ()
    package: str = ""
    """The package most elements belong to, where the dialect says so."""
    truncated: int = 0
    """Elements left out because of a bound."""
    keyboard: Bounds | None = None
    """The on-screen keyboard's window, where the tree shows it."""

    @property
    def usable(self) -> bool:
        return self.status in (TreeStatus.OK, TreeStatus.PARTIAL) and bool(self.elements)


class Screenshot(Value):
    """A picture as the device gave it."""

    data: bytes = Field(repr=False)
    media_type: str = "image/png"
    width: int
    """Pixels."""
    height: int
    """Pixels."""


class TextLine(Value):
    """A line of text as read from a picture."""

    text: str
    bounds: Bounds
    """In picture pixels."""
    score: float = 1.0
    """How sure the reader is, 0-1."""


class PictureText(Value):
    """All text read from one picture."""

    lines: tuple[TextLine, ...] = ()
    """In reading order."""
    size: Size
    """Pixels of the picture."""
    seconds: float = 0.0
    """What the reading took, without any waiting for it."""
    engine: str = ""


class Alert(Value):
    """A system dialog that stands in front of everything."""

    text: str


class DeviceView(Value):
    """Everything one look at a device gave; each part may be missing, with its reason."""

    taken_at: datetime
    screenshot: Screenshot | None = None
    screenshot_problem: str = ""
    """Why there is no (usable) screenshot: refused, secure, timed out, not a picture."""
    source: UiSource | None = None
    source_problem: str = ""
    window: Size = Size(width=0, height=0)
    """In the unit of element bounds; taps are mapped onto this."""
    orientation: str = "portrait"
    package: str = ""
    activity: str = ""
    url: str = ""
    title: str = ""
    alert: Alert | None = None
    keyboard_shown: bool | None = None
    """None where the device cannot say."""
    toasts: tuple[str, ...] = ()
    """Short-lived messages seen since the last look, where the device can tell."""
    windows: int = 1
    """Open tabs or windows; more than before means one was followed."""
    notes: tuple[str, ...] = ()
    """What the device did on its own: "followed a new tab", "session reopened", …"""


class ScreenDiff(Value):
    """The mechanical difference of two observations."""

    changed: bool
    screenshot_distance: int | None = None
    """Hamming distance of the two dHashes, 0-64; None when a picture is missing."""
    app_changed: bool = False
    page_changed: bool = False
    added: tuple[str, ...] = ()
    """Texts that appeared, at most 20."""
    removed: tuple[str, ...] = ()
    """Texts that left, at most 20."""

    def line(self) -> str:
        """One short line for the transcript."""
        if not self.changed:
            return "no visible change"
        parts = []
        if self.app_changed:
            parts.append("another app is in front")
        elif self.page_changed:
            parts.append("another page is shown")
        if self.added:
            parts.append("appeared: " + "; ".join(f"“{t}”" for t in self.added[:4]))
        if self.removed and not self.page_changed and not self.app_changed:
            parts.append("left: " + "; ".join(f"“{t}”" for t in self.removed[:4]))
        return ", ".join(parts) or "the picture changed"


class Observation(Value):
    """One parsed look at the device, ready for the operator and for the store."""

    observation_id: str
    """Element indexes are valid for this observation only."""
    taken_at: datetime
    tree: UiTree
    window: Size
    orientation: str = "portrait"
    package: str = ""
    activity: str = ""
    url: str = ""
    title: str = ""
    alert: Alert | None = None
    keyboard_shown: bool | None = None
    toasts: tuple[str, ...] = ()
    windows: int = 1
    problems: tuple[str, ...] = ()
    """What could not be seen, each with its reason; shown to the model and to people."""
    notes: tuple[str, ...] = ()
    screenshot: ArtifactRef | None = None
    """The picture as captured."""
    model_image: ArtifactRef | None = None
    """JPEG, 720 px on the short side: what the model is shown."""
    image_size: Size | None = None
    """Pixels of the captured screenshot, to which normalised points refer."""
    black: bool = False
    """The picture is one uniform colour: secure or switched off."""
    source_ref: ArtifactRef | None = None
    """The raw UI source."""
    tree_ref: ArtifactRef | None = None
    """The parsed UiTree as JSON."""
    dhash: str = ""
    """16 hex digits, or empty without a picture."""
    signature: str = ""
    """Hash of the UI structure: same page, same signature, whatever the values."""
    content_hash: str = ""
    """Hash of everything visible in the tree, values included."""
    element_count: int = 0
    """Elements of the tree, kept when the elements themselves are left to `tree_ref`."""

    def light(self) -> Observation:
        """The form for events and rows: the elements stand in `tree_ref` alone."""
        return self.model_copy(update={"tree": self.tree.model_copy(update={"elements": ()})})

    def app(self) -> str:
        """What is in front, for people: package, else the URL without its query."""
        return self.package or self.url.split("?")[0].split("#")[0]

    def page(self) -> str:
        """The page's name for people: title, else activity, else the app."""
        return self.title or self.activity or self.app()
