"""Keeps everything: rows, events, artifacts and the search index."""
