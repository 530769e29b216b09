"""What people look at in a browser or a terminal: HTML, SVG and text."""
