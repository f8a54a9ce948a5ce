"""`python -m incrt_cli`."""

from incrt_cli.cli.main import main

main()
