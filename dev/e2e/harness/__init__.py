"""What the end-to-end tests are built from: a scripted model, real programs, scripted editors."""
