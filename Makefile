# The five things to type. Each installs first what is missing.

.PHONY: help setup check test run demo
MAKEFLAGS += --no-print-directory
# Each start of Python would compile everything anew: three seconds for every command of the tests.
unexport PYTHONDONTWRITEBYTECODE

bin := .venv/bin

help:
	@echo 'make setup         install everything, again only after a change'
	@echo 'make check         format, lint, types, import table'
	@echo 'make test          check, then all tests (no model is paid for)'
	@echo 'make run           the server with the demo phone'
	@echo 'make demo          a task on the demo phone, then keep serving (once=1: exit after the task)'

setup:
	@scripts/setup

check: setup
	@$(bin)/ruff format --check --quiet .
	@$(bin)/ruff check --quiet .
	@$(bin)/mypy --no-error-summary
	@$(bin)/pytest --quiet --no-header tests/test_architecture.py

# A key in the environment must never be spent by a test.
pytest := env -u GEMINI_API_KEY -u GOOGLE_API_KEY $(bin)/pytest --quiet --no-header

# Quick tests first; where one fails, the slow ones are not begun. These mostly wait for phones and
# browsers, so that there are more of them at a time than processors.
test: check
	@$(pytest) --numprocesses=auto --dist=loadfile $(wildcard tests/test_*.py) tests/unit tests/properties
	@$(pytest) --numprocesses=3 --maxschedchunk=1 tests/e2e tests/integration

run: setup
	@$(bin)/artemis serve --demo

demo: setup
	@$(bin)/artemis demo $(if $(filter 1,$(once)),--once)
