"""One stateless replica: commands, passes, timers, sweep and drain over the bus. Everything it holds is a cache."""
