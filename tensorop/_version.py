"""The version, in the one place that the packaging and `tensorop.__version__` both read."""

__version__ = "0.1.0"
