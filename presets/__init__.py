"""Ready-made requests, and the software the site has validated for them."""
