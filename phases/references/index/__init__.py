"""What is in the fetched repositories, as one document each, with the cache that is searched. Incremental by content."""
