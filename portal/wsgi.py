"""Pages and the API, served by gunicorn."""

import gc
import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
application = get_wsgi_application()
_ = get_resolver().url_patterns  # all pages and the API now, not with somebody's first request
gc.collect()
gc.freeze()  # what is loaded stays: a full collection took a request a tenth of a second
