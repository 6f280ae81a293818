"""Tables: columns of frames, and the files that they are read from."""
