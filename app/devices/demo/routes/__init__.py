"""The pages of the demo phone, one module per app."""
