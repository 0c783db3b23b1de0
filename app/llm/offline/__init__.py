"""The offline model: no key, no network, the same answers to the same requests."""
