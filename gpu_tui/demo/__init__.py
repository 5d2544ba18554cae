"""The simulated fleet: real SSH servers on loopback, real sh, scripted stories."""
