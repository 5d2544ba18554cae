"""What runs in the jailed child: one module per format. Nothing outside the child imports a reader."""
