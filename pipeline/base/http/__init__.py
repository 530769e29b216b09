"""Downloads from untrusted servers; every other web request in the tree uses them."""
