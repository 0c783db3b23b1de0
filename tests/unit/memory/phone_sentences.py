"""Summaries as a model writes them about phones, right and wrong, over one step's records."""

# ruff: noqa: E501, RUF001  (each sentence on its own line, in the characters a screen shows)

from __future__ import annotations

from tests.unit.memory.sentences import Sentence, right, wrong

PHONE_SOURCE = """# STEP
Step 14 (T+02:31)
# SEEN
page: 设置
app: com.android.settings
activity: .Settings$WifiSettingsActivity
alert: Couldn’t connect to “FRITZ!Box 7590”. Check password and try again.
toast: Payment completed successfully
# ACTION
tap [Completed] on the tab bar
{"type":"tap","target":{"point":{"x":540,"y":1287},"text":"Completed","resource_id":"com.shop:id/tab_done"}}
press enter
wait 3 s
type “Can't wait to see you at 3:05 PM!” into [Message]
# CONTROLLER
ok delivered in 0.42 s
# VALIDATOR
no_visible_change
the screen stayed as it was
# DIFFERENCE
appeared: Orders (3)
appeared: Order #A-2207 · ¥1,280.50 · 已完成
appeared: Subtotal $1,234.56
appeared: −$5.00 discount
appeared: Balance -42.10 €
appeared: 3:05 PM
appeared: 15:30–17:00
appeared: Battery 86%
appeared: 23 °C
appeared: Storage 12.5 GB of 64 GB
appeared: Mon, Mar 2, 2026
appeared: 2026年3月2日
appeared: +49 151 2345-678
appeared: (555) 010-4477
appeared: anna.k@example.org
appeared: Failed to load image
appeared: Navigate to home
appeared: Enter amount
appeared: Android 14 · v2.3.1
appeared: IMG_2031.jpg
appeared: 10.0.2.15
appeared: card ending in **** 4242
appeared: Don't allow
appeared: While using the app
appeared: “Quiet hours” from 22:00
appeared: 移动网络
appeared: Wi‑Fi 设置
appeared: Rome → Berlin, seat 14C, gate B12
appeared: 52.5200, 13.4050
appeared: Pro plan 9.99 / month
appeared: Tom's list – 24-hour format
appeared: All 27 photos
# ANALYZER
recovery (no_visible_change): tap [Not now] → executed
# KEPT
value total = ¥1,280.50
note order_list
# THINKING
The list has 5 candidates; I am at the third. I expect a dialog. 2/5
"""

PHONE_RIGHT: tuple[Sentence, ...] = (
    right(
        "I tapped the “Completed” tab to look for the order, and the list showed order #A-2207 with ¥1,280.50 and the label “已完成”."
    ),
    right(
        "I opened the Wi‑Fi page (“Wi-Fi 设置”) because the plan asked for the network name; a dialog said “Couldn't connect to “FRITZ!Box 7590””."
    ),
    right('I opened the page "设置" and looked at the row "移动网络" below it.'),
    right("I wanted to read the subtotal and read $1,234.56 and a discount of -$5.00 above it."),
    right("I wanted to read the subtotal and read $1,234.56 and a discount of −$5.00 above it."),
    right('The balance shown was -42.10 €, and I kept the total of ¥1,280.50 as "total".'),
    right("The clock in the list said 3:05 PM, and the time span below said 15:30–17:00."),
    right("The clock in the list said 3:05PM when I looked at the screen."),
    right("I read “3:05 PM” next to the message that I had typed."),
    right("The battery stood at 86% and the temperature at 23 °C on the widget."),
    right("The temperature on the widget was 23°C and the battery 86 %."),
    right("Storage was listed as 12.5GB of 64GB in the first row of the page."),
    right("I read the date “Mon, Mar 2, 2026” and its Chinese form “2026年3月2日”."),
    right(
        "I noted the number +49 151 2345-678 and the mail anna.k@example.org from the contact's page."
    ),
    right("I noted the number (555) 010-4477 from the contact's page for later."),
    right("A placeholder read “Failed to load image” where the picture should be; I scrolled on."),
    right("The button 'Navigate to home' was visible, but I did not tap it."),
    right("I typed into the field labelled “Enter amount” and the keyboard stayed open."),
    right("The About page listed Android 14 and version v2.3.1 of the app."),
    right("The gallery showed “All 27 photos” and the file IMG_2031.jpg at the top."),
    right("I pressed Enter to submit the query, and the page stayed the same."),
    right("I tapped Enter on the keyboard, and the recorded verdict was no_visible_change."),
    right(
        "I used the Enter/Return key to send the text, and the recorded verdict was no_visible_change."
    ),
    right("The field showed card ending in **** 4242, so I left the payment method as it was."),
    right("I chose 'Don't allow' instead of 'While using the app' in the permission dialog."),
    right("I chose ‘Don’t allow’ in the permission dialog that covered the page."),
    right("The alert read ‘Couldn’t connect to “FRITZ!Box 7590”.’ and I read its buttons."),
    right("The toast “Payment completed successfully” was shown for a moment at the bottom."),
    right('The toast read "Payment completed successfully."'),
    right(
        "The screen said „Payment completed successfully” and the validator recorded no_visible_change."
    ),
    right("I read the phrase “Quiet hours” and the start 22:00 in the list."),
    right("I read “‘Quiet hours’ from 22:00” in the list of schedules."),
    right("I compared the third of 5 candidates; I still had to look at candidates 4 and 5."),
    right("I was on candidate 3/5 and the row looked like the earlier ones."),
    right("I looked at row 3 of 5 in the list and the remaining 2 were below the fold."),
    right("This was the 3rd attempt; after steps 11, 12, and 13 the list looked the same."),
    right("I waited 3 seconds so that the list could load, then looked again."),
    right("I waited for 3 s, and the screen stayed as it was."),
    right("I did a 3-second wait and the screen stayed as it was."),
    right("I switched on the 24-hour format in “Tom's list – 24-hour format”."),
    right("I read the seat 14C and the gate B12 of the trip from Rome to Berlin."),
    right("The map showed 52.5200, 13.4050 as the place of the pin."),
    right("I looked at the Pro plan, which costs 9.99 per month as the page says."),
    right("The device address was 10.0.2.15 and I noted it in order_list."),
    right("The Failure Analyzer was triggered by no_visible_change and tapped “Not now”."),
    right(
        "The Failure Analyzer stepped in after no_visible_change; it tapped “Not now”, and I went on."
    ),
    right(
        'After the recorded no_visible_change the failure analyzer\'s action was a tap on "Not now".'
    ),
    right("I tapped the tab again. It opened a list with “Orders (3)” in its header."),
    right(
        "The system opened a permission dialog with the options “Don't allow” and “While using the app”."
    ),
    right("I tapped “Not now”, which closed the sheet; the page 设置 was in view again."),
    right("I did not see the row for the 2 missing photos, so I scrolled down twice."),
    right("I was not able to tell which of the 3 rows was meant, so I opened the first one."),
    right("I haven't found the total yet; the order's page is still to be opened."),
    right("I didn't see any change after the tap; the controller had recorded ok."),
    right("The order isn't listed under “Completed”, as far as the visible rows show."),
    right("The chat offered to connect me with an agent, and I left the offer alone."),
    right("I looked at the Google Assistant button and at the agent icon beside it."),
    right("The navigation drawer was open, and I scrolled to the lower part of it."),
    right("I looked at the navigation bar and wanted to open the second tab."),
    right("I navigated the list row by row and read each price on the way."),
    right("I looked for the auto-complete suggestions under the search field."),
    right("The counter showed 3. I tapped “Completed” and the page showed 5. I read it again."),
    right("I moved the centre of the map, then re-centred it on the pin."),
    right("The entry for Berlin stood in the second row, and its entrance gate was B12."),
    right("I read the failover note? No such text was on the page, so I went back."),
    right(
        "Since the recorded verdict was no_visible_change, I plan to scroll and look for the order once more."
    ),
    right("I verified the label of the switch: it read “Wi‑Fi 设置” and was on."),
    right("I set out to check the price; the page listed ¥1,280.50, which is the value I kept."),
    right("I saw 12 unread messages and 4 large buttons, none of them named “Completed”."),
    right("I chose option 2 of the dialog since the user instruction asked for it."),
    right("I went through page 2 of 4 of the list and read the orders on it."),
    right("The list of the first 10 apps was in view, in the same order as before."),
    right("I typed “Can't wait to see you at 3:05 PM!” into the message field."),
    right('I typed "Can\'t wait to see you at 3:05 PM!" and the text was in the field.'),
    right("I typed 'Can't wait to see you at 3:05 PM!' and the text was in the field."),
    right("The balance shown was 42.10 € below zero, as its row says: -42.10 €."),
)

PHONE_WRONG: tuple[Sentence, ...] = (
    wrong("I was successful in opening the Wi-Fi page and read the name.", "judging_word"),
    wrong("The tap on the tab was successful, and the list was shown.", "judging_word"),
    wrong("The payment has been completed and the toast was shown.", "judging_word"),
    wrong("I've completed the form and moved on to the payment.", "judging_word"),
    wrong("The half-completed form was still on the screen.", "judging_word"),
    wrong("The form was left uncompleted when the dialog was shown.", "judging_word"),
    wrong("I didn't succeed in opening the Wi-Fi page of the device.", "judging_word"),
    wrong("I couldn't find the row for the order in the list.", "judging_word"),
    wrong("I couldn’t find the row for the order in the list.", "judging_word"),
    wrong("I can't see the row for the order in the list.", "judging_word"),
    wrong("I cannot see the row for the order in the list.", "judging_word"),
    wrong('I have entered "Can\'t wait to see you at 3:05 PM!" into the field.', "judging_word"),
    wrong("Re-entering the amount left the page as it was.", "judging_word"),
    wrong("I navigated from the list to the page of the order.", "judging_word"),
    wrong("I navigated through the settings to the Wi‑Fi page of the phone.", "judging_word"),
    wrong("I navigated directly to the page 设置 of the phone.", "judging_word"),
    wrong("I navigated to “设置” and looked at its rows.", "judging_word"),
    wrong("I had arrived at “设置” and looked at its rows.", "judging_word"),
    wrong("The attempt failed, since no_visible_change was recorded.", "judging_word"),
    wrong("The tap failed to open the list of the orders.", "judging_word"),
    wrong("It's impossible to read the total on this page.", "judging_word"),
    wrong("I tapped the Completed tab and looked at the list.", "judging_word"),
    wrong(
        "The tap was ‘successful’ as far as I can tell from the page.",
        "judging_word",
        "value_without_source",
    ),
    wrong("I tapped “Complete order” and looked at the list.", "value_without_source"),
    wrong("The toast read “Payment failed” and I looked at the list.", "value_without_source"),
    wrong("I read the total of ¥1,280 on the page of the order.", "value_without_source"),
    wrong("I read the subtotal of $1,234 on the page of the order.", "value_without_source"),
    wrong("I read the time 3:50 PM in the row of the list.", "value_without_source"),
    wrong("I read the time 3:05 AM: the “3:05 AM” row was the first.", "value_without_source"),
    wrong("I read a battery charge of 68% on the widget.", "value_without_source"),
    wrong("I read 12.5 MB of storage: “12.5 MB” stood in the row.", "value_without_source"),
    wrong("I read the date “Mar 3, 2026” in the first row.", "value_without_source"),
    wrong("I read the number +49 151 2345-679 on the page.", "value_without_source"),
    wrong("I read the mail anna.k@example.com on the page.", "value_without_source"),
    wrong("I read order #A-2208 in the list of the orders.", "value_without_source"),
    wrong("I read the file IMG_2013.jpg in the gallery's list.", "value_without_source"),
    wrong("I read version v2.3 on the About page of the app.", "value_without_source"),
    wrong("I read the address 10.0.2.1 on the page of the network.", "value_without_source"),
    wrong("I read the seat 14D and the gate B12 on the page.", "value_without_source"),
    wrong("The card ended in 4243, as the row of the card says.", "value_without_source"),
    wrong("I read 13.4050, 52.52 under the map of the pin.", "value_without_source"),
    wrong("I read room 128 and rows below it on the page.", "value_without_source"),
    wrong("The total 512 was shown on the page of the order.", "value_without_source"),
    wrong("I looked at “移动数据” below the page's title.", "value_without_source"),
    wrong("The agent opened the page 设置 and read the rows.", "third_person"),
    wrong("The operator's intent was to open the page 设置.", "third_person"),
    wrong("An AI agent tapped the tab and looked at the list.", "third_person"),
    wrong("You tapped the tab and looked at the list of orders.", "third_person"),
    wrong("Then the assistant scrolled down to look for the order.", "third_person"),
    wrong("The user opened the list and looked at the orders.", "third_person"),
    wrong("1) I tapped the tab 2) I read the list of orders", "list", "value_without_source"),
    wrong(
        "First: 1. I tapped the tab 2. I read the list of orders", "list", "value_without_source"
    ),
    wrong("**I tapped** the tab and read the list of orders.", "markdown"),
    wrong("Summary - I tapped the tab and read the list of orders.", "heading"),
    wrong('I tapped " and successfully opened " the list of orders.', "value_without_source"),
)
