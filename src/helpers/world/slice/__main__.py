"""Run `python -m helpers.world.slice`: build the slice."""

from helpers.world.slice import main

main()
