"""Values and protocols that every area shares; no input or output happens here."""
