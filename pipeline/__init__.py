"""The machine that runs numbered phases over schema-checked files. It knows no paper and no model."""

__version__ = "0.1.0"
