"""What a program is: how it is declared, and what is read from its source."""
