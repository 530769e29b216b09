"""The model-driven loop: ask, act, observe. Models, tools, sandbox, journal, and what decides that it is done."""
