"""`incrt`: train transformers that decide their own number of attention heads."""

__version__ = "0.1.0"
