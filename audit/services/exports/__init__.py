"""Writing the trail out: asking for it, making it at once or by the worker, signing it, telling who asked."""
