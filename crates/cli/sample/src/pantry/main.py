"""Makes `python -m pantry` work."""

from pantry.cli import main

raise SystemExit(main())
