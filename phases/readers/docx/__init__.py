"""Read Word documents."""
