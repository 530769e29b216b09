"""What everything stands on: errors, files, formats, logs, downloads. It imports nothing of the rest."""
