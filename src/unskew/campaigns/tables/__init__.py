"""Logs and pools as tables: files, columns, what they hold, and features made of them."""
