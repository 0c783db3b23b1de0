"""Runs tasks: the one door for api, console and command line, the worker and the live bus."""
