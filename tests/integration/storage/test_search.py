"""Recall over recorded texts, in the scripts and with the queries people use."""

from __future__ import annotations

import pytest

from app.domain.actions import Outcome, Receipt, Verdict
from app.domain.memory import RecallQuery, TextKind
from app.domain.tasks import Recovery
from app.storage.excerpts import tokens_of
from tests.integration.storage.conftest import Store
from tests.unit.storage.samples import decided, entries, finished, observation, tap

TEXTS = {
    1: "设置里打开深色模式",
    2: "gen-itgc后50条",
    3: "しりとりをする",
    4: "المكتبةُ العربيّة مفتوحة اليوم",
    5: "Order AB-1234 shipped to 192.168.0.7",
    6: "Total ¥1,280 incl. tax",
    7: "q2a8_fancy_banana.mp3 was saved",
    8: "She said “don't stop” to @nasa at 12:40",
    9: "Le café de l'été est fermé",
    10: "Party tonight 🎉👍🏽 bring snacks",
    11: "resource id com.shop.app:id/btnCheckoutNow",
    12: "multi-agent foo AND bar OR NOT baz NEAR(x)",
    13: "50% off, a:b, C++ and C# (beta)",
    14: "STRASSE und Maße",
    15: "한국어 설정 메뉴",
    16: "ราคาสินค้าทั้งหมด",
    17: "Ваш заказ готов",
    18: "http://phone/settings?tab=wifi#top",
    19: "東京タワー",
    20: "plain words about nothing at all",
}


@pytest.fixture
async def filled(store: Store) -> tuple[Store, str]:
    task = await store.running()
    other = await store.running("other")
    for number, text in TEXTS.items():
        await store.recorder(task.task_id).record(decided(number), index=entries(number, text))
        await store.recorder(other.task_id).record(
            decided(number), index=entries(21 - number, text)
        )
    return store, task.task_id


FOUND_IN = [
    ("深色", 1),
    ("深色模式", 1),
    ("打开", 1),
    ("后", 2),
    ("itgc", 2),
    ("gen-itgc", 2),
    ("50条", 2),
    ("しりとり", 3),
    ("りと", 3),
    ("العربية", 4),
    ("المكتبه", 4),
    ("AB-1234", 5),
    ("ab-1234", 5),
    ("ＡＢ－１２３４", 5),  # noqa: RUF001
    ("192.168.0.7", 5),
    ("¥1,280", 6),
    ("1,280", 6),
    ("1280", 6),
    ("q2a8_fancy_banana.mp3", 7),
    ("banana", 7),
    ("don't", 8),
    ("@nasa", 8),
    ("nasa", 8),
    ('"don\'t stop"', 8),
    ("12:40", 8),
    ("café", 9),
    ("cafe", 9),
    ("ete", 9),
    ("🎉", 10),
    ("👍", 10),
    ("btnCheckoutNow", 11),
    ("checkout", 11),
    ("com.shop.app:id/btnCheckoutNow", 11),
    ("foo AND", 12),
    ("NEAR(x", 12),
    ("multi-agent", 12),
    ("50%", 13),
    ("a:b", 13),
    ("C++", 13),
    ("C#", 13),
    ("straße", 14),
    ("strasse", 14),
    ("설정", 15),
    ("สินค้า", 16),
    ("ЗАКАЗ", 17),  # noqa: RUF001
    ("settings?tab=wifi", 18),
    ("東京", 19),
    ("タワー", 19),
    ("words about nothing", 20),
]


async def test_the_right_step_comes_first(filled: tuple[Store, str]) -> None:
    store, task_id = filled
    search = store.search(task_id)
    for query, step in FOUND_IN:
        results = (await search.search(RecallQuery(query=query))).results
        assert results, f"nothing was found for {query}"
        assert (query, results[0].step_number) == (query, step)
        assert results[0].excerpt in TEXTS[step]


LEGAL = [
    "",
    " \n\t",
    "***",
    '"',
    "'; DROP TABLE task; --",
    "AND OR NOT",
    "NEAR(",
    "search_text:x",
    "^start",
    "a* b*",
    "(((",
    "x" * 10_000,
    "wörter " * 1_500,
    "深" * 9_000,
    "<->|&!:*",
    "\\",
    "%_%",
    "null \0 byte",
    "👩‍👩‍👧‍👦",
    "-",
    "{}[]",
    "zzz9 unheard-of",
]


async def test_any_text_is_a_legal_query(filled: tuple[Store, str]) -> None:
    store, task_id = filled
    for query in LEGAL:
        for steps in (None, (2, 3)):
            result = await store.search(task_id).search(RecallQuery(query=query, step_range=steps))
            assert len(result.results) <= 5


async def test_nothing_found_says_so(filled: tuple[Store, str]) -> None:
    store, task_id = filled
    result = await store.search(task_id).search(RecallQuery(query="Zugspitze 99-XYZ"))
    assert (result.results, result.tokens, result.truncated) == ((), 0, False)
    assert (await store.search("nobody").search(RecallQuery(query="café"))).results == ()


async def test_a_range_bounds_the_search(filled: tuple[Store, str]) -> None:
    store, task_id = filled
    search = store.search(task_id)
    assert (await search.search(RecallQuery(query="café", step_range=(1, 8)))).results == ()
    within = await search.search(RecallQuery(query="café", step_range=(12, 5)))
    assert [hit.step_number for hit in within.results] == [9]


async def test_an_exact_code_beats_many_words(store: Store) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    noise = "order shipped order shipped your order has shipped AB 1234"
    for number in range(1, 31):
        text = "reference AB-1234" if number == 7 else f"{noise} AB-{number}"
        await recorder.record(decided(number), index=entries(number, text))
    result = await store.search(task.task_id).search(RecallQuery(query="order shipped AB-1234"))
    assert result.results[0].step_number == 7


async def test_the_exact_phrase_beats_its_words(store: Store) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    for number in range(1, 41):
        text = (
            "the sign in button, seen from afar" if number == 3 else "in in sign sign button sign"
        )
        await recorder.record(decided(number), index=entries(number, text))
    result = await store.search(task.task_id).search(RecallQuery(query="Sign in"))
    assert result.results[0].step_number == 3


async def test_another_form_of_a_word_is_found_after_the_word_itself(store: Store) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    texts = {1: "the app crashed", 2: "it crashes at once", 3: "no notification", 4: "all is well"}
    for number, text in texts.items():
        await recorder.record(decided(number), index=entries(number, text))
    search = store.search(task.task_id)
    hits = (await search.search(RecallQuery(query="crashed"))).results
    assert [hit.step_number for hit in hits][:2] == [1, 2]
    hits = (await search.search(RecallQuery(query="Notifications"))).results
    assert hits[0].step_number == 3


async def test_words_that_say_nothing_are_found_when_nothing_else_is_asked(store: Store) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    for number, text in enumerate(("who goes there", "what is it", "the rest"), 1):
        await recorder.record(decided(number), index=entries(number, text))
    hits = (await store.search(task.task_id).search(RecallQuery(query="what is it"))).results
    assert hits[0].step_number == 2


async def test_a_phrase_among_common_words_is_found(store: Store) -> None:
    """Each word stands in more rows than are looked at; the phrase in an old one."""
    task = await store.running()
    recorder = store.recorder(task.task_id)
    words = ["alpha gamma beta"] * 2_500
    await recorder.record(decided(1), index=entries(1, "alpha beta gamma"))
    await recorder.record(decided(2), index=entries(2, *words))
    hits = (await store.search(task.task_id).search(RecallQuery(query="alpha beta gamma"))).results
    assert hits[0].step_number == 1


async def test_the_newest_of_equals_comes_first_and_a_step_once(store: Store) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    for number in range(1, 9):
        texts = entries(number, "battery 63 percent", "battery again", "battery")
        await recorder.record(decided(number), index=texts)
    result = await store.search(task.task_id).search(RecallQuery(query="battery 63 percent"))
    assert [hit.step_number for hit in result.results] == [8, 7, 6, 5, 4]
    scores = [hit.score for hit in result.results]
    assert scores == sorted(scores, reverse=True)


async def test_what_was_kept_on_purpose_beats_what_was_seen(store: Store) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    await recorder.record(
        decided(1), index=entries(1, "total is 12 euro", kind=TextKind.REMEMBERED)
    )
    await recorder.record(decided(2), index=entries(2, "total is 12 euro"))
    result = await store.search(task.task_id).search(RecallQuery(query="total"))
    assert [hit.kind for hit in result.results] == [TextKind.REMEMBERED, TextKind.SCREEN]


async def test_a_long_text_is_quoted_around_the_match(store: Store) -> None:
    task = await store.running()
    rows = [f"Row {i} costs {i * 7} euro" for i in range(3_000)]
    await store.recorder(task.task_id).record(decided(1), index=entries(1, "\n".join(rows)))
    query = RecallQuery(query="Row 2345", max_tokens=200)
    result = await store.search(task.task_id).search(query)
    assert len(result.results) == 1
    assert "Row 2345 costs 16415 euro" in result.results[0].excerpt
    assert tokens_of(result.results[0].excerpt) <= 120


@pytest.mark.parametrize("max_tokens", [100, 250, 2_000])
@pytest.mark.parametrize("details", [False, True])
async def test_results_keep_their_bound(store: Store, max_tokens: int, details: bool) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    for number in range(1, 8):
        text = f"weather {'记录 sunny ' * 200} {number}"
        await recorder.record(decided(number, thinking="why " * 500), index=entries(number, text))
    query = RecallQuery(query="weather", max_tokens=max_tokens, include_details=details)
    result = await store.search(task.task_id).search(query)
    shown = sum(tokens_of(hit.excerpt) + tokens_of(hit.details) for hit in result.results)
    assert result.results
    assert shown <= result.tokens <= max_tokens
    assert result.truncated == (max_tokens < 2_000 or details)


async def test_a_range_without_a_query_is_its_ledger(store: Store) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    for number in range(1, 11):
        step = decided(number, action_text=f"tap [Row {number}]", offset=number * 40.0)
        await recorder.record(step)
        recovery = Recovery(
            trigger="error",
            diagnosis="a dialog",
            action=tap("OK"),
            receipt=Receipt(outcome=Outcome.OK),
            verdict=Verdict.EXECUTED,
        )
        recoveries = (recovery,) if number == 4 else ()
        await recorder.record(finished(step, recoveries=recoveries))
    result = await store.search(task.task_id).search(RecallQuery(step_range=(3, 9)))
    assert [hit.step_number for hit in result.results] == list(range(3, 10))
    assert result.results[0].excerpt == "Step 3 (T+02:00): tap [Row 3] → executed"
    assert result.results[1].excerpt.endswith("\n  recovery: tap [OK] → executed")
    assert not result.truncated
    short = await store.search(task.task_id).search(RecallQuery(step_range=(1, 10), max_tokens=100))
    assert 0 < len(short.results) < 10
    assert short.truncated
    assert short.tokens <= 100


async def test_details_and_one_picture(store: Store) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    for number in (1, 2):
        picture = await store.artifacts.put(b"picture %d" % number, "image/jpeg")
        seen = observation(number, model_image=picture)
        step = decided(number, observation=seen, remembered={"total": "12 euro"})
        await recorder.record(step, index=entries(number, "checkout"))
        await recorder.record(finished(step, verdict_reason="the page changed"))
    query = RecallQuery(query="checkout", include_details=True, include_images=True)
    hits = (await store.search(task.task_id).search(query)).results
    assert [hit.image is not None for hit in hits] == [True, False]
    assert hits[0].image is not None
    assert await store.artifacts.get(hits[0].image) == b"picture 2"
    for part in ("Step 2 (T+00:10)", "the page changed", "total = 12 euro", "Settings"):
        assert part in hits[0].details


async def test_a_text_is_found_as_soon_as_it_is_recorded(store: Store) -> None:
    task = await store.running()
    recorder = store.recorder(task.task_id)
    await recorder.record(decided(1), index=entries(1, "first"))
    search = store.search(task.task_id)
    assert (await search.search(RecallQuery(query="late-17"))).results == ()
    await recorder.record(index=entries(1, "read later: late-17", kind=TextKind.OCR))
    (hit,) = (await search.search(RecallQuery(query="late-17"))).results
    assert (hit.step_number, hit.kind) == (1, TextKind.OCR)
