"""The directory of generated code, which is hostile: reading, writing, snapshots, restoring."""
