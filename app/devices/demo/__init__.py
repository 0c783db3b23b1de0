"""The demo phone: a small set of mobile web apps that a headless Chromium opens as its phone."""
