"""Tables: the columns of frames, and the files from which they are read."""
