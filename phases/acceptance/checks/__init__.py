"""Check the work on the disk: planned files, test runs, missing programs, and the hook that ships."""
