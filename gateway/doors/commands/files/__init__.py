"""Commands about files of the user: those that are searched, and those that steer a turn."""
