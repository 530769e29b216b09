"""Planning with a model: what it is given, how it is asked, and what of its replies is a plan."""
