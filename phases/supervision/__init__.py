"""The supervision kernel: pure and total, every decision a function of state and events. supervision-kernel.md is its text."""
