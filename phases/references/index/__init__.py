"""Index the fetched repositories: one document each, and a cache for searching. Incremental by content."""
