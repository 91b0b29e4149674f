"""Building blocks of the end-to-end tests: a scripted model, real programs, scripted editors."""
