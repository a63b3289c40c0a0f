"""What happened in a campaign: events, the state they amount to, and the databases that keep them."""
