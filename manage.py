#!/usr/bin/env python
"""The one command of the project: every verb is a management command."""

import sys

from webapp.launch import main

if __name__ == "__main__":
    sys.exit(main(sys.argv))
