"""The panels: each a file, shown one immutable view at a time, and none knows the engine."""
