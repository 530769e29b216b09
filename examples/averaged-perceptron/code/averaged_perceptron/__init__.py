"""Averaged perceptrons with lazy updates on sparse streams: the method and the experiments of the paper."""
