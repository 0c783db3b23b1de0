"""What is on the screen: trees, element lists, pictures, differences. Pure functions."""
