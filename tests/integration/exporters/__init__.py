"""Synthetic node_exporters: thousands of believable targets in one process.

    /usr/bin/python3 tests/integration/exporters/main.py --port 9100

A target is told by the loopback address that the connection came in on:
http://127.1.0.7:PORT/metrics is another node than http://127.1.0.8:PORT/metrics. Every address of
127.0.0.0/8 is one, and so is every NAME in http://127.0.0.1:PORT/node/NAME/metrics. The listener is
bound to the loopback device.

Counters follow scripted loads (load.py) without error, so that a test can compute what a window
must be (GET /exporters/truth). Pages have the format of Debian's prometheus-node-exporter,
`collect[]` included. Targets misbehave on command (trouble.py, fleet.py).

When it is ready it prints one line of JSON: {"port": .., "url": .., "admin_url": .., "pid": ..}.
"""
