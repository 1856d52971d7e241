"""Commands about files of the user that steer a turn."""
