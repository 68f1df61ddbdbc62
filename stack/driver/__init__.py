"""A stand-in for NVIDIA's driver library: shows what a scene file says, through the real NVML interface."""
