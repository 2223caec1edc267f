"""The measured claims, each a function that yields or returns what it found."""
