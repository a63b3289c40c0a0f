"""Files that go out to people and other programs, and come back."""
