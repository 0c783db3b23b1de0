"""Everything that reaches a phone: drivers, a recorded run as a device, the bundled demo phone."""
