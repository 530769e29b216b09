"""Downloads from places that nobody vouches for: the ground floor of everything here that asks a web server."""
