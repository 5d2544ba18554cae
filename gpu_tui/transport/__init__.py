"""Bytes to and from one box. The only room that knows asyncssh."""
