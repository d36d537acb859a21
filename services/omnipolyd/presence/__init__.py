"""The presence service: who is connected, moving, gone, watching, and telling the tables."""
