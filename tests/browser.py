"""A real browser for tests: Debian's chromium, driven by playwright, without a network."""

import os
import shutil

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_ARGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]


def executable():
    return os.environ.get("BOSCAGE_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = executable()
    if path is None:
        pytest.skip("no Chromium is installed (on Debian: apt-get install chromium)")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=_ARGS)
        yield chromium
        chromium.close()


class Tab:
    """A page opened from a file; it must neither complain nor ask the network for anything."""

    def __init__(self, browser, path, **options):
        self.context = browser.new_context(**({"viewport": {"width": 1280, "height": 800}} | options))
        self.page = self.context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def __enter__(self):
        return self.page

    def __exit__(self, kind, *_):
        self.context.close()
        if kind is None:
            assert not self.complaints, self.complaints
            assert [url for url in self.requests if not url.startswith(("file:", "data:"))] == []
