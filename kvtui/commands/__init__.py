"""The commands, one module each; `kvtui.cli.COMMANDS` lists them."""
