"""Sentences of summaries, right and wrong, each with the rule it breaks; near misses among them."""

from __future__ import annotations

from typing import NamedTuple

SOURCE = """tap [Sign in] → executed; another page is shown
Screen “Checkout · Demo shop” (http://phone/shop), 24 elements
Order AB-1234 · total ¥1,280 · 19.99 € · due 12:40 · 85 % · 2026-03-01 · 555-0142
Payment failed. Try again. Setup completed successfully. Could not connect to 192.168.0.7
press enter; Don't allow; Enter your name; com.example.shop/.Main; anna@example.org
Ｗｉ‑Ｆｉ 设置; balance -5.20; room 7; Anna's phone; “Flight LH 400” at gate B12
Failure Analyzer: trigger no_visible_change, action dismiss the dialog [Not now]
"""  # noqa: RUF001


class Sentence(NamedTuple):
    """A text and the rules that it breaks; none when it is right."""

    text: str
    rules: frozenset[str] = frozenset()


def right(text: str) -> Sentence:
    return Sentence(text)


def wrong(text: str, *rules: str) -> Sentence:
    return Sentence(text, frozenset(rules))


RIGHT = (
    right("I tapped “Sign in” and another page was shown; the controller recorded executed."),
    right("I wanted to read the total; the screen showed ¥1,280 for order AB-1234."),
    right("I pressed the Enter key and the checkout page stayed in view."),
    right("I pressed Enter in the field, and the recorded verdict was uncertain."),
    right("I used the ENTER KEY of the keyboard; the list was still shown."),
    right("The Failure Analyzer noted no_visible_change and dismissed the dialog “Not now”."),
    right("I looked at what the Failure Analyzer's record said about the dialog."),
    right("The toast read “Payment failed”, so I looked for another way to pay."),
    right('A banner said "Could not connect to 192.168.0.7", and I waited.'),
    right("The dialog showed 'Setup completed successfully' above the buttons."),
    right("I read the label „Enter your name“ above the first field of the form."),
    right("The page showed «Payment failed. Try again.» below the total of 1280."),
    right("I repeated the tap 3 times, and the picture stayed as it was."),
    right("As in step 12 and steps 4-7, I scrolled the list to look for the row."),
    right("I scrolled through 24 elements and saw 3 more items below them."),
    right("This was polling round #2 of the loop; the page had not changed."),
    right("I took the 2nd row of the list, after the first one had shown nothing new."),
    right("I typed the mail address anna@example.org into the field on top."),
    right("The package in front was com.example.shop with the checkout page."),
    right("I noted the number 555-0142 and the date 2026-03-01 for later."),
    right("The balance read -5.20, and the due time next to it was 12:40."),
    right("The price of 19.99 € stood beside a progress of 85%."),
    right("The name ‘Don't allow’ stood on the lower of the buttons."),
    right("I opened the entry on the center of the screen to compare the entries."),
    right("The navigation bar at the bottom was in view with its icons."),
    right("I looked at the successor of the row and at the following one."),
    right("It is possible that the list goes on below; I intend to scroll."),
    right("The arrival of the parcel was not mentioned on the page."),
    right("I compared the enterprise section with the entertainment section."),
    right("I saw a travel agent of the town among the contacts in the list."),
    right("I expected the dialog to close; the recorded verdict was no_visible_change."),
    right("The title “Flight LH 400” was shown with gate B12."),
    right("I read “Setup completed…” in the header of the page."),
    right("I found that “Wi-Fi 设置” was the title of the section."),
    right("The user's instruction asked for the total, so I stayed on the page."),
    right("At T+01:02 I looked at the same list once again, without a change."),
    right("I looked at Anna's phone and at room 7; the rows' order was the same."),
)

WRONG = (
    wrong("I successfully tapped the button and moved on to the form.", "judging_word"),
    wrong("The login was SUCCESSFUL, and I went on with the form.", "judging_word"),
    wrong("I succeeded in opening the list of the orders.", "judging_word"),
    wrong("The tap was a success, as the page shows.", "judging_word"),
    wrong("I completed the form and looked at the page.", "judging_word"),
    wrong("I was completing the form when the dialog opened.", "judging_word"),
    wrong("After completion of the form the page was shown.", "judging_word"),
    wrong("The form stayed incomplete, and I looked for the field.", "judging_word"),
    wrong("I achieved what the plan asked for on this page.", "judging_word"),
    wrong("The goal of this page was reached by achieving the order.", "judging_word"),
    wrong("I entered the mail address into the field.", "judging_word"),
    wrong("I was entering a text into the field on top.", "judging_word"),
    wrong("I re-entered the text, since the field was blank.", "judging_word"),
    wrong("I enter the shop through its icon on the launcher.", "judging_word"),
    wrong("I navigated to the checkout page of the shop.", "judging_word"),
    wrong("I navigated back to the list of the orders.", "judging_word"),
    wrong("Navigating to the checkout page took a while.", "judging_word"),
    wrong("I arrived at the checkout page of the shop.", "judging_word"),
    wrong("I was arriving on the page while the toast was shown.", "judging_word"),
    wrong("The tap failed, and I looked at the page again.", "judging_word"),
    wrong("This fails whenever the dialog is in front.", "judging_word"),
    wrong("There was a failure while the page was loading.", "judging_word"),
    wrong("The Failure Analyzer said that the tap failed on the page.", "judging_word"),
    wrong("The attempt was unsuccessful on this page.", "judging_word"),
    wrong("It ended unsuccessfully, so I looked for another way.", "judging_word"),
    wrong("I could not see the button on the page.", "judging_word"),
    wrong("I couldn't see the button on the page.", "judging_word"),
    wrong("I couldn’t see the button on the page.", "judging_word"),
    wrong("I could also not see the button on the page.", "judging_word"),
    wrong("The page cannot be scrolled any further.", "judging_word"),
    wrong("It was impossible to scroll the list.", "judging_word"),
    wrong("I suc\u00adcessfully tapped the button of the form.", "judging_word"),
    wrong("I ｓｕｃｃｅｓｓｆｕｌｌｙ tapped the button.", "judging_word"),  # noqa: RUF001
    wrong("I tapped it “achieved” and saw the page.", "judging_word", "value_without_source"),
    wrong('The tap worked "successfully and failed to stop.', "judging_word"),
    wrong("The button “Sign in” was tapped; I entered “AB-1234” there.", "judging_word"),
    wrong("The agent tapped the button and saw another page.", "third_person"),
    wrong("The AI assistant looked at the list of the orders.", "third_person"),
    wrong("the operator scrolled the list to its end.", "third_person"),
    wrong("Agent tapped the button and looked at the page.", "third_person"),
    wrong("It tapped the button and looked at the page.", "third_person"),
    wrong("The user tapped the button and looked at the page.", "third_person"),
    wrong("They scrolled the list and looked at the rows.", "third_person"),
    wrong("I did this.\n- tapped the button\n- read the page", "list"),
    wrong("1. I tapped the button\n2. I read the page", "list", "value_without_source"),
    wrong("• I tapped the button and read the page", "list"),
    wrong("I (1) tapped the button, (2) read the page.", "list", "value_without_source"),
    wrong("# Summary\nI tapped the button and read the page.", "heading"),
    wrong("Summary: I tapped the button and read the page.", "heading"),
    wrong("Step 4: I tapped the button and read the page.", "heading"),
    wrong("Here is the paragraph: I tapped the button.", "heading"),
    wrong("I tapped the **button** and read the page.", "markdown"),
    wrong("I tapped the `button` and read the page.", "markdown"),
    wrong('{"summary": "I tapped"} the button of the page', "markdown", "value_without_source"),
    wrong("I tapped the button.\n\nThen I read the page.", "paragraphs"),
    wrong("── ACTION ── I tapped the button and read the page.", "echo"),
    wrong("I tapped the button.\n=====\nI read the page.", "echo"),
    wrong("I tapped.", "too_short"),
    wrong("I read the page. " * 100, "too_long"),
    wrong("I saw the total of 1,281 on the page.", "value_without_source"),
    wrong("I saw the total of $1,280 on the page.", "value_without_source"),
    wrong("I saw the total of 128 on the page.", "value_without_source"),
    wrong("I saw the time 12:4 on the page.", "value_without_source"),
    wrong("I saw the price of 9.99 on the page.", "value_without_source"),
    wrong("I saw order AB-123 on the page.", "value_without_source"),
    wrong("I saw order AB-12345 on the page.", "value_without_source"),
    wrong("I saw the address 192.168.0.71 on the page.", "value_without_source"),
    wrong("I saw the address bob@example.org on the page.", "value_without_source"),
    wrong("I tapped “Sign out” and looked at the page.", "value_without_source"),
    wrong("The toast read “Payment fail”, as I saw.", "value_without_source"),
    wrong("The balance read -5.21 on the page.", "value_without_source"),
    wrong("I saw the number 555 0142 9 on the page.", "value_without_source"),
    wrong("The progress read ٨٦% on the page.", "value_without_source"),
)

SENTENCES = RIGHT + WRONG
