"""Tests of the averaged perceptron: python -m unittest discover -s tests -t ."""
