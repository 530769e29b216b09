"""What the disk says of the work: what changed, whether files are written, and the check that ships."""
