"""Care of a home: backup, doctor, and the look at derived data that follows a start."""
