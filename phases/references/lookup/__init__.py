"""Ask services on the network which repository belongs to a reference. Off unless the user names them."""
