"""What the operator may call: declarations, in-turn tools, and the reading of actions."""
