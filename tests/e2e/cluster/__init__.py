"""A real Kubernetes cluster of one machine, for tests.

certificates.py   keys and certificates, by openssl
api.py            a client of the API server, for tests
control_plane.py  etcd, kube-apiserver, kube-controller-manager, kube-scheduler as processes
relay.py          TCP relays: before the API server, to cut connections, and as a Service
tokens.py         ServiceAccount tokens that live for seconds
nodes.py          nodes without kubelets: objects, exporters behind them, kwok to run their pods
workloads.py      pods and Deployments, where they went, what was said about them
arrivals.py       what arrives in a scenario of the simulator, and what it predicts
closed_loop.py    a cluster whose exporters say what its pods use
meters.py         its kubelets, which say what each pod uses
sides.py          several of them that get the same pods, and who chooses nodes there
koordlets.py      what Koordinator's agents would write about its nodes
admission.py      deploy/admission, and what the API server makes of a pod
plimsoll.py       our two programs as a cluster runs them: service accounts, RBAC of deploy/, tokens
rights.py         what the roles of deploy/ permit, and taking some of it away
real_node.py      real kubelets with containerd, each in namespaces of its own
kubelet.py        a pretended kubelet that asks the API server who may see its pages

All of it expects to run inside ../sandbox: it binds fixed ports on loopback addresses.
"""
