"""Servers on sockets for benchmarks: a phone behind Appium's HTTP, a model behind Gemini's."""
