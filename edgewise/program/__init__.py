"""Programs: how they are declared, and what is read from their source."""
