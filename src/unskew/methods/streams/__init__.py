"""Methods on a stream: rows come by once."""
