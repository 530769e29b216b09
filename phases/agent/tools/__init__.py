"""The tools that a model may call: typed, checked, held inside the workspace, bounded in what they answer."""
