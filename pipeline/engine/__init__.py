"""The machine: phases, contracts, tasks. It knows no paper, no model and no agent."""
