"""A strict stand-in for the Kubernetes API server.

    /usr/bin/python3 tests/integration/standin/main.py --nodes 5

It speaks list (pages, resourceVersion rules), watch (bookmarks, 410, selectors), merge patch with
managedFields, PartialObjectMetadata, leases, pod binding and node metrics as the real one does; and it
misbehaves on command (faults.py, admin.py).

When it is ready it prints one line of JSON:

    {"url": "http://127.0.0.1:40123", "admin_url": "http://127.0.0.1:40124", "pid": 4711}

The cases of api_kit.py say what it does, and ../README.md where it differs from a real one.
"""
