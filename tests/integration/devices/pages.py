"""A small site for the device tests: every page has one difficulty."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

VIEWPORT = "<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'>"

PAGES = {
    "/": VIEWPORT
    + """<title>Start</title><h1>Start</h1>
<button id=save onclick="say('saved')"><span>Save</span></button> <a href=/second>Next page</a>
<a href=/second target=_blank id=tab>New tab</a>
<p id=said role=status></p>
<label for=name>Name</label> <input id=name value=Ann>
<input id=pin type=password placeholder=PIN>
<label>Colour <select id=colour onchange="say('colour ' + this.value)">
 <option>Red<option>Green</select></label>
<input id=day type=date aria-label=Day> <input type=file aria-label=Photo>
<textarea id=memo aria-label=Memo rows=2></textarea>
<form onsubmit="say('sent ' + q.value); return false"><input id=q aria-label=Search></form>
<input id=locked readonly value=fixed aria-label=Locked>
<div contenteditable id=rich aria-label=Rich style="min-height:20px;border:1px solid"></div>
<iframe src=/frame width=300 height=60></iframe><div id=host></div>
<script>
const say = (t) => { said.textContent = t; };
host.attachShadow({mode: 'open'}).innerHTML =
  '<button id=sb>Shadow button</button><input aria-label="In shadow">';
host.shadowRoot.getElementById('sb').onclick = () => say('shadow tapped');
addEventListener('message', (e) => say('frame says ' + e.data));
Array.prototype.toJSON = () => 'broken by the page';
</script>""",
    "/frame": VIEWPORT + "<button onclick=\"parent.postMessage('hello','*')\">In frame</button>"
    "<input aria-label='Framed' oninput=\"parent.postMessage(this.value,'*')\">",
    "/second": VIEWPORT + "<title>Second</title><h1>Second page</h1><a href=/>Home again</a>",
    "/list": VIEWPORT
    + "<title>List</title><div id=box style='position:fixed;bottom:0;height:60px;width:100%;"
    "background:#fff'><button>Bar</button></div>"
    + "".join(f"<p style='height:40px'>Row {n}</p>" for n in range(1, 201)),
    "/dialogs": VIEWPORT
    + """<title>Dialogs</title>
<button onclick="r.textContent = confirm('Delete {it}?')">Ask</button>
<button onclick="r.textContent = prompt('Your name?', 'x')">Prompt</button><p id=r></p>
<button onclick="const t = document.createElement('div'); t.setAttribute('role', 'alert');
 t.textContent = 'Copied!'; document.body.append(t);
 setTimeout(() => t.remove(), 150)">Toast</button>
<button onclick="for (;;);">Hang</button>""",
    "/gestures": VIEWPORT
    + """<title>Gestures</title><style>body{margin:0}
#pad{height:300px;background:#ddd;touch-action:none}</style>
<div id=pad tabindex=0>pad</div><p id=log></p><script>
let start = 0, moves = 0;
const log_ = (t) => { log.textContent += t + ' '; };
pad.addEventListener('touchstart', () => { start = Date.now(); moves = 0; });
pad.addEventListener('touchmove', () => moves++);
pad.addEventListener('touchend', () =>
  log_(moves > 3 ? 'moved' : Date.now() - start > 700 ? 'long' : 'short'));
pad.addEventListener('dblclick', () => log_('double'));
addEventListener('keydown', (e) => log_('key:' + e.key));
</script>""",
    "/wide": "<!doctype html><title>Wide</title><body style='margin:0'>"
    "<div style='height:600px'></div><button style='margin-left:600px' "
    "onclick=\"document.title='hit'\">Far right</button>",
    "/covered": VIEWPORT
    + """<title>Covered</title><button>Behind</button><div role=dialog aria-label="Cookies"
 style="position:fixed;inset:0;background:#fff"><button>Agree</button></div>
<label style="position:fixed;bottom:9px">
<input type=checkbox checked style="opacity:0">Dark mode</label>
<p style="position:fixed;bottom:50px"><input type=checkbox><span>Buy milk</span></p>""",
    "/to-console": VIEWPORT + "<title>Trap</title><a href='{console}/secret'>Open the console</a>",
    "/greets": VIEWPORT + "<title>Greets</title><script>alert('Welcome')</script><p>In</p>",
    "/hangs": VIEWPORT + "<title>Hangs</title><script>for (;;);</script>",
}


class Site:
    def __init__(self, url: str, console: str) -> None:
        self.url = url
        self.console = console
        self.console_hits: list[str] = []


def _handler(site: Site, console: bool) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.split("?")[0]
            if console:
                site.console_hits.append(path)
            if path == "/redirect":
                self.send_response(302)
                self.send_header("Location", f"{site.console}/secret")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            page = "<title>Console</title>" if console else PAGES.get(path)
            body = (page or "missing").replace("{console}", site.console).encode()
            self.send_response(200 if page else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            return

    return Handler


@contextmanager
def serve() -> Iterator[Site]:
    """The site, and on a second port something that stands for the console."""
    site = Site("", "")
    servers = [
        ThreadingHTTPServer(("127.0.0.1", 0), _handler(site, console)) for console in (False, True)
    ]
    site.url, site.console = (f"http://127.0.0.1:{s.server_address[1]}" for s in servers)
    threads = [threading.Thread(target=s.serve_forever, args=(0.05,)) for s in servers]
    for thread in threads:
        thread.start()
    try:
        yield site
    finally:
        for server, thread in zip(servers, threads, strict=True):
            server.shutdown()
            server.server_close()
            thread.join(5)
