"""The model of a campaign: fitted from its answers, cached, and judged."""
