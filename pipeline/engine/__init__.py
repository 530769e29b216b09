"""Engine for phases, contracts and tasks, independent of papers, models and agents."""
