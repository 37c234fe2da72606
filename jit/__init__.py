"""Kernel descriptions in, machine code out: generators, the compiler, the driver and the team."""
