"""One file a node, all the same shape: `async def run(run: Run) -> Signal`."""
