"""The summary book as a state machine: concurrent and late writers, and nothing lost."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from app.domain.summaries import (
    SUMMARY_TRANSITIONS,
    StepSummary,
    SummaryEvidenceMetadata,
    SummaryStatus,
)
from app.errors import Conflict
from app.memory.summary_book import SummaryBook

STEPS = st.integers(1, 3)


def summary(step: int, version: int) -> StepSummary:
    evidence = SummaryEvidenceMetadata(
        step_id=f"id{step}", model="m", prompt_version=1, summary_version=version
    )
    return StepSummary(
        step_id=f"id{step}",
        step_number=step,
        version=version,
        text=f"text {version} of step {step}",
        evidence=evidence,
    )


class Book(RuleBasedStateMachine):
    """A model of plain dictionaries beside the book."""

    def __init__(self) -> None:
        super().__init__()
        self.book = SummaryBook()
        self.status: dict[int, SummaryStatus] = {}
        self.accepted: dict[int, list[int]] = {}
        self.given: dict[int, int] = {}

    writers = Bundle("writers")

    @rule(step=STEPS)
    def expect(self, step: int) -> None:
        if step in self.status:
            with pytest.raises(Conflict):
                self.book.expect(step)
            return
        self.book.expect(step)
        self.status[step] = SummaryStatus.PENDING
        self.accepted[step], self.given[step] = [], 0

    @rule(target=writers, step=STEPS)
    def begin(self, step: int) -> tuple[int, int]:
        """Any number of writers may be at work on one step."""
        if step not in self.status:
            with pytest.raises(Conflict):
                self.book.give_version(step)
            return (step, 0)
        version = self.book.give_version(step)
        self.given[step] += 1
        assert version == self.given[step], "a version is given out once"
        return (step, version)

    @rule(writer=consumes(writers))
    def finish(self, writer: tuple[int, int]) -> None:
        """Writers come back in any order."""
        step, version = writer
        if not version:
            return
        newest = max(self.accepted[step], default=0)
        if version <= newest:
            assert not self.book.accept(summary(step, version)), "an older one loses"
        elif SummaryStatus.VISUAL_READY in SUMMARY_TRANSITIONS[self.status[step]]:
            assert self.book.accept(summary(step, version))
            self.status[step] = SummaryStatus.VISUAL_READY
            self.accepted[step].append(version)
        else:
            with pytest.raises(Conflict):
                self.book.accept(summary(step, version))

    @rule(step=STEPS, status=st.sampled_from(SummaryStatus))
    def move(self, step: int, status: SummaryStatus) -> None:
        known = step in self.status
        legal = known and status in SUMMARY_TRANSITIONS[self.status[step]]
        if legal and status is not SummaryStatus.VISUAL_READY:
            self.book.move(step, status)
            self.status[step] = status
            return
        with pytest.raises(Conflict):
            self.book.move(step, status)

    @invariant()
    def the_book_says_the_same(self) -> None:
        for step, status in self.status.items():
            assert self.book.status(step) is status
            versions = [s.version for s in self.book.versions(step)]
            assert versions == self.accepted[step] == sorted(set(versions))
            newest = self.book.newest(step)
            assert (newest.version if newest else 0) == max(versions, default=0)
        counts = self.book.counts()
        assert sum(counts.values()) == len(self.status)


TestBook = Book.TestCase
TestBook.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
