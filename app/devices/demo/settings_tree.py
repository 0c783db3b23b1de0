"""The pages of Settings as data: which rows each has, given a world and a state.

Longer than most modules: one small function per page, and the table of them at the end.
"""

from collections.abc import Callable

from app.devices.demo.records import WifiNetwork
from app.devices.demo.settings_rows import (
    Action,
    Choice,
    Group,
    Link,
    SettingsPage,
    Stepper,
    Switch,
    TextEdit,
    Value,
)
from app.devices.demo.state import PhoneState
from app.devices.demo.world import DemoWorld

FONT_SIZES = ("Small", "Default", "Large", "Largest")
TIMEOUTS = ("15 seconds", "30 seconds", "1 minute", "5 minutes", "10 minutes")
RINGTONES = ("Morning bell", "Marimba", "River", "Old telephone", "Silence")
ZONES = (
    "Coordinated Universal Time",
    "Central European Time",
    "India Standard Time",
    "Japan Standard Time",
    "Pacific Time",
)
LEVEL_MAXIMUM = {"brightness": 10, "media_volume": 15, "ring_volume": 7, "alarm_volume": 7}


def settings_page(path: str, state: PhoneState) -> SettingsPage | None:
    """The page at a path below settings/, or None where there is none."""
    if build := PAGES.get(path):
        return build(state, state.world)
    if path.startswith(WIFI + "/"):
        network = find_network(state.world, path.removeprefix(WIFI + "/"))
        return _wifi_network(state, network) if network else None
    return None


def find_network(world: DemoWorld, network_id: str) -> WifiNetwork | None:
    return next((n for n in world.wifi_networks if n.id == network_id), None)


def on_off(value: bool) -> str:
    return "On" if value else "Off"


def _switch(state: PhoneState, key: str, label: str, hint: str = "") -> Switch:
    return Switch(label, key, state.switches[key], hint)


def _choices(state: PhoneState, key: str, options: tuple[str, ...]) -> Group:
    return Group(tuple(Choice(option, key, state.choices[key] == option) for option in options))


def _stepper(state: PhoneState, key: str, label: str) -> Stepper:
    return Stepper(label, key, state.levels[key], LEVEL_MAXIMUM[key])


def _connected(state: PhoneState) -> str:
    if not state.switches["wifi"]:
        return "Off"
    network = find_network(state.world, state.wifi_network or "")
    return network.name if network else "Not connected"


def _root(state: PhoneState, world: DemoWorld) -> SettingsPage:
    return SettingsPage(
        "Settings",
        (
            Group(
                (
                    Link("Network & internet", "network", _connected(state), "wifi"),
                    Link(
                        "Bluetooth", "bluetooth", on_off(state.switches["bluetooth"]), "bluetooth"
                    ),
                    Link("Notifications", "notifications", icon="bell"),
                )
            ),
            Group(
                (
                    Link("Display", "display", icon="sun"),
                    Link("Sound", "sound", icon="sound"),
                    Link("Battery", "battery", f"{world.battery.level} %", "battery"),
                    Link(
                        "Storage",
                        "storage",
                        f"{world.storage.used_gb} of {world.storage.total_gb} GB used",
                        "storage",
                    ),
                )
            ),
            Group(
                (
                    Link("Date & time", "datetime", icon="calendar"),
                    Link("About phone", "about", state.device_name, "info"),
                )
            ),
        ),
    )


def _network(state: PhoneState, world: DemoWorld) -> SettingsPage:
    mobile = world.about.operator if state.switches["mobile_data"] else "Off"
    return SettingsPage(
        "Network & internet",
        (
            Group(
                (
                    Link("Wi-Fi", WIFI, _connected(state), "wifi"),
                    Link("Mobile network", "network/mobile", mobile, "phone"),
                    Link(
                        "Hotspot", "network/hotspot", on_off(state.switches["hotspot"]), "hotspot"
                    ),
                )
            ),
            Group((_switch(state, "airplane", "Airplane mode"),)),
        ),
    )


def _wifi(state: PhoneState, world: DemoWorld) -> SettingsPage:
    groups = [Group((_switch(state, "wifi", "Use Wi-Fi"),))]
    if state.switches["wifi"]:
        links = (
            Link(
                n.name,
                f"{WIFI}/{n.id}",
                "Connected" if n.id == state.wifi_network else f"{n.signal}, {n.security}",
                "wifi",
            )
            for n in world.wifi_networks
        )
        groups.append(Group(tuple(links), "Networks"))
        return SettingsPage("Wi-Fi", tuple(groups))
    return SettingsPage("Wi-Fi", tuple(groups), "Turn on Wi-Fi to see networks.")


def _wifi_network(state: PhoneState, network: WifiNetwork) -> SettingsPage:
    connected = state.switches["wifi"] and state.wifi_network == network.id
    action = Action("Disconnect", "disconnect") if connected else Action("Connect", "connect")
    return SettingsPage(
        network.name,
        (
            Group((Value("Status", "Connected" if connected else "Not connected"), action)),
            Group(
                (
                    _switch(state, "auto_connect", "Connect automatically"),
                    _switch(state, "metered", "Treat as metered", "Saves data in apps"),
                )
            ),
            Group(
                (
                    Value("Signal strength", network.signal),
                    Value("Security", network.security),
                    Value("Frequency", network.frequency),
                    Value("IP address", network.ip_address),
                    Value("Gateway", network.gateway),
                    Value("MAC address", network.mac_address),
                ),
                "Network details",
            ),
        ),
    )


def _mobile(state: PhoneState, world: DemoWorld) -> SettingsPage:
    return SettingsPage(
        "Mobile network",
        (
            Group(
                (
                    _switch(state, "mobile_data", "Mobile data"),
                    _switch(state, "roaming", "Roaming", "Extra charges may apply"),
                )
            ),
            Group(
                (
                    Value("Operator", world.about.operator),
                    Value("Phone number", world.about.phone_number),
                )
            ),
        ),
    )


def _hotspot(state: PhoneState, world: DemoWorld) -> SettingsPage:
    return SettingsPage(
        "Hotspot",
        (
            Group((_switch(state, "hotspot", "Use hotspot"),)),
            Group(
                (Value("Hotspot name", state.device_name), Value("Hotspot security", "WPA3")),
            ),
        ),
    )


def _bluetooth(state: PhoneState, world: DemoWorld) -> SettingsPage:
    return SettingsPage(
        "Bluetooth",
        (
            Group((_switch(state, "bluetooth", "Use Bluetooth"),)),
            Group((Value("This device", state.device_name),)),
        ),
        "" if state.switches["bluetooth"] else "Turn on Bluetooth to pair devices.",
    )


def _notifications(state: PhoneState, world: DemoWorld) -> SettingsPage:
    return SettingsPage(
        "Notifications",
        (
            Group(
                (
                    Link("App notifications", "notifications/apps"),
                    Link("Do not disturb", "notifications/quiet"),
                    _switch(state, "lock_screen_details", "Details on the lock screen"),
                )
            ),
        ),
    )


def _app_notifications(state: PhoneState, world: DemoWorld) -> SettingsPage:
    keys = (("notify_messages", "Messages"), ("notify_shop", "Shop"), ("notify_clock", "Clock"))
    return SettingsPage(
        "App notifications", (Group(tuple(_switch(state, key, label) for key, label in keys)),)
    )


def _quiet(state: PhoneState, world: DemoWorld) -> SettingsPage:
    return SettingsPage(
        "Do not disturb",
        (
            Group((_switch(state, "do_not_disturb", "Do not disturb now"),)),
            Group((Value("Starts at", "22:00"), Value("Ends at", "07:00")), "Every night"),
        ),
    )


def _display(state: PhoneState, world: DemoWorld) -> SettingsPage:
    return SettingsPage(
        "Display",
        (
            Group((_stepper(state, "brightness", "Brightness"),)),
            Group(
                (
                    Link("Font size", "display/font", state.choices["font_size"]),
                    Link("Screen timeout", "display/timeout", state.choices["screen_timeout"]),
                )
            ),
            Group(
                (
                    _switch(state, "adaptive", "Adaptive brightness"),
                    _switch(state, "night_light", "Night light", "Warmer colours after sunset"),
                )
            ),
        ),
    )


def _sound(state: PhoneState, world: DemoWorld) -> SettingsPage:
    return SettingsPage(
        "Sound",
        (
            Group(
                (
                    _stepper(state, "media_volume", "Media volume"),
                    _stepper(state, "ring_volume", "Ring volume"),
                    _stepper(state, "alarm_volume", "Alarm volume"),
                )
            ),
            Group((Link("Ringtone", "sound/ringtone", state.choices["ringtone"]),)),
            Group(
                (
                    _switch(state, "vibrate", "Vibrate for calls"),
                    _switch(state, "key_clicks", "Keyboard clicks"),
                )
            ),
        ),
    )


def _battery(state: PhoneState, world: DemoWorld) -> SettingsPage:
    return SettingsPage(
        "Battery",
        (
            Group(
                (
                    Value("Battery level", f"{world.battery.level} %"),
                    Value("Battery health", f"{world.battery.health} %"),
                    Value("Charge cycles", str(world.battery.cycles)),
                    Value("Temperature", world.battery.temperature),
                )
            ),
            Group((Link("Battery usage", "battery/usage"),)),
            Group(
                (
                    _switch(state, "battery_saver", "Battery saver"),
                    _switch(state, "battery_percentage", "Show percentage"),
                )
            ),
        ),
    )


def _battery_usage(state: PhoneState, world: DemoWorld) -> SettingsPage:
    rows = tuple(Value(app, f"{share} %") for app, share in world.battery.usage)
    return SettingsPage("Battery usage", (Group(rows, "Since the last full charge"),))


def _storage(state: PhoneState, world: DemoWorld) -> SettingsPage:
    storage = world.storage
    cache = 0 if state.cache_cleared else storage.cache_mb
    return SettingsPage(
        "Storage",
        (
            Group(
                (
                    Value("Used", f"{storage.used_gb} GB"),
                    Value("Free", f"{storage.total_gb - storage.used_gb} GB"),
                )
            ),
            Group(
                (
                    Value("Apps", f"{storage.apps_gb} GB"),
                    Value("Photos", f"{storage.photos_gb} GB"),
                    Value("System", f"{storage.system_gb} GB"),
                )
            ),
            Group((Value("Cached data", f"{cache} MB"), Action("Clear cache", "clear_cache"))),
        ),
    )


def _datetime(state: PhoneState, world: DemoWorld) -> SettingsPage:
    return SettingsPage(
        "Date & time",
        (
            Group(
                (
                    _switch(state, "auto_time", "Set time automatically"),
                    _switch(state, "hour_24", "24-hour format"),
                )
            ),
            Group((Link("Time zone", "datetime/zone", state.choices["time_zone"]),)),
        ),
    )


def _about(state: PhoneState, world: DemoWorld) -> SettingsPage:
    about = world.about
    return SettingsPage(
        "About phone",
        (
            Group((Link("Device name", "about/name", state.device_name),)),
            Group(
                (
                    Value("Model", about.model),
                    Value("Serial number", about.serial_number),
                    Value("System version", about.system_version),
                    Value("Build number", about.build_number),
                    Value("Security update", about.security_update),
                    Value("IMEI", about.imei),
                    Value("Wi-Fi MAC address", about.wifi_mac),
                    Value("Phone number", about.phone_number),
                )
            ),
            Group((Link("Demo account", "about/account"), Link("Legal", "about/legal"))),
        ),
    )


def _device_name(state: PhoneState, world: DemoWorld) -> SettingsPage:
    row = TextEdit("Device name", "device_name", state.device_name)
    return SettingsPage("Device name", (Group((row,)),))


def _demo_account(state: PhoneState, world: DemoWorld) -> SettingsPage:
    account = world.account
    rows = (Value("User name", account.user_name), Value("Password", account.password))
    return SettingsPage("Demo account", (Group(rows),), "Use these in the Account app.")


def _legal(state: PhoneState, world: DemoWorld) -> SettingsPage:
    return SettingsPage(
        "Legal",
        (Group((Value("Licence", "Apache 2.0"),)),),
        "This phone is a demonstration. Nothing on it is real: no person, no shop, no money.",
    )


WIFI = "network/wifi"
Builder = Callable[[PhoneState, DemoWorld], SettingsPage]


def _choice_page(title: str, key: str, options: tuple[str, ...]) -> Builder:
    return lambda state, _world: SettingsPage(title, (_choices(state, key, options),))


PAGES: dict[str, Builder] = {
    "": _root,
    "network": _network,
    WIFI: _wifi,
    "network/mobile": _mobile,
    "network/hotspot": _hotspot,
    "bluetooth": _bluetooth,
    "notifications": _notifications,
    "notifications/apps": _app_notifications,
    "notifications/quiet": _quiet,
    "display": _display,
    "display/font": _choice_page("Font size", "font_size", FONT_SIZES),
    "display/timeout": _choice_page("Screen timeout", "screen_timeout", TIMEOUTS),
    "sound": _sound,
    "sound/ringtone": _choice_page("Ringtone", "ringtone", RINGTONES),
    "battery": _battery,
    "battery/usage": _battery_usage,
    "storage": _storage,
    "datetime": _datetime,
    "datetime/zone": _choice_page("Time zone", "time_zone", ZONES),
    "about": _about,
    "about/name": _device_name,
    "about/account": _demo_account,
    "about/legal": _legal,
}
