"""The state of every step's summary: which move is allowed, and which version counts.

Versions are given out before a text is asked for and only append. A writer that comes late with
an older version than the one that is there loses, whatever it brings.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from app.domain.summaries import SUMMARY_TRANSITIONS, StepSummary, SummaryStatus
from app.errors import Conflict


@dataclass
class Entry:
    """One step's summary as it stands."""

    status: SummaryStatus = SummaryStatus.PENDING
    given_out: int = 0
    """The newest version that a writer was given."""
    versions: list[StepSummary] = field(default_factory=list)

    @property
    def newest(self) -> StepSummary | None:
        return self.versions[-1] if self.versions else None

    @property
    def version(self) -> int:
        return self.versions[-1].version if self.versions else 0


class SummaryBook:
    """All steps of one task."""

    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}

    def __contains__(self, step_number: int) -> bool:
        return step_number in self._entries

    def expect(self, step_number: int) -> None:
        """A step's summary is pending from now on."""
        if step_number in self._entries:
            raise Conflict(f"The summary of step {step_number} is already known.")
        self._entries[step_number] = Entry()

    def restore(self, step_number: int, status: SummaryStatus, summary: StepSummary | None) -> None:
        """Puts back what the store holds."""
        versions = [summary] if summary is not None else []
        given_out = summary.version if summary is not None else 0
        self._entries[step_number] = Entry(status, given_out, versions)

    def give_version(self, step_number: int) -> int:
        """The next version's number, for one writer alone."""
        entry = self._entry(step_number)
        entry.given_out += 1
        return entry.given_out

    def allows(self, step_number: int, status: SummaryStatus) -> bool:
        return status in SUMMARY_TRANSITIONS[self._entry(step_number).status]

    def move(self, step_number: int, status: SummaryStatus) -> None:
        """Moves without a new version; `visual_ready` needs one and goes by `accept`."""
        if status is SummaryStatus.VISUAL_READY:
            raise Conflict("A summary is ready only with a version.")
        self._move(step_number, status)

    def accept(self, summary: StepSummary) -> bool:
        """Takes a version; false when a newer one is there already."""
        entry = self._entry(summary.step_number)
        if summary.version <= entry.version:
            return False
        self._move(summary.step_number, SummaryStatus.VISUAL_READY)
        entry.given_out = max(entry.given_out, summary.version)
        entry.versions.append(summary)
        return True

    def status(self, step_number: int) -> SummaryStatus:
        return self._entry(step_number).status

    def newest(self, step_number: int) -> StepSummary | None:
        """The version that serves, whatever the state."""
        entry = self._entries.get(step_number)
        return entry.newest if entry is not None else None

    def newest_version(self, step_number: int) -> int:
        """The number of the version that serves; 0 while there is none."""
        return self._entry(step_number).version

    def recent(self, count: int) -> tuple[tuple[int, str], ...]:
        """The newest texts with their step numbers, oldest first."""
        found: list[tuple[int, str]] = []
        for number in sorted(self._entries, reverse=True):
            if len(found) == count:
                break
            if (newest := self._entries[number].newest) is not None:
                found.append((number, newest.text))
        return tuple(reversed(found))

    def versions(self, step_number: int) -> tuple[StepSummary, ...]:
        return tuple(self._entry(step_number).versions)

    def before(self, step_number: int, count: int) -> tuple[StepSummary, ...]:
        """The newest versions of the steps just before one, oldest first."""
        found = (self.newest(n) for n in range(max(1, step_number - count), step_number))
        return tuple(s for s in found if s is not None)

    def counts(self) -> dict[SummaryStatus, int]:
        return dict(Counter(entry.status for entry in self._entries.values()))

    def _entry(self, step_number: int) -> Entry:
        if step_number not in self._entries:
            raise Conflict(f"No summary of step {step_number} is expected.")
        return self._entries[step_number]

    def _move(self, step_number: int, status: SummaryStatus) -> None:
        entry = self._entry(step_number)
        if status not in SUMMARY_TRANSITIONS[entry.status]:
            raise Conflict(
                f"The summary of step {step_number} is {entry.status.value} and cannot become "
                f"{status.value}."
            )
        entry.status = status
