"""Static files under hashed names, ES module imports and CSS urls rewritten to match."""

from django.contrib.staticfiles.storage import ManifestStaticFilesStorage


class HashedFiles(ManifestStaticFilesStorage):
    """Names carry a hash of the content, so browsers may keep them for ever."""

    support_js_module_import_aggregation = True
    manifest_strict = False
