/* Paths of the Kubernetes API, and default ports. */
#pragma once

/* Groups and versions. */
#define KUBE_CORE "/api/v1"
#define KUBE_APPS "/apis/apps/v1"
#define KUBE_COORDINATION "/apis/coordination.k8s.io/v1"
#define KUBE_AUTOSCALING "/apis/autoscaling/v2"
#define KUBE_METRICS "/apis/metrics.k8s.io/v1beta1"

/* Lists of the whole cluster. */
#define KUBE_NODES KUBE_CORE "/nodes"
#define KUBE_PODS KUBE_CORE "/pods"

/* Selects the objects of deploy/. */
#define KUBE_PART_OF_PLIMSOLL "labelSelector=app.kubernetes.io%2Fpart-of%3Dplimsoll"

#define KUBE_PORT_EXTENDER 8010
#define KUBE_PORT_EXTENDER_HEALTH 8011
#define KUBE_PORT_CONTROLLER 8090
#define KUBE_PORT_NODE_EXPORTER 9100
#define KUBE_PORT_KUBELET 10250
/* KUBE_PORT_TEXT() - a port as a string literal */
#define KUBE_PORT_TEXT(port) KUBE_PORT_TEXT_(port)
#define KUBE_PORT_TEXT_(port) #port

/** kube_escape() - percent-encode a path segment or query value; owned by the caller */
char *kube_escape(const char *text);
/**
 * kube_path() - the path of an object or list, owned by the caller
 * @namespace: NULL: none
 * @name:      NULL: the list
 * @suffix:    appended unchanged: a subresource ("/binding"), a query ("?limit=1") or ""
 */
char *kube_path(const char *group, const char *namespace, const char *resource, const char *name,
                const char *suffix);
