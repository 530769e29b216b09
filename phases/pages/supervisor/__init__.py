"""What supervision did, for people: read from its files, in lines of text and as a page."""
