#include "cli/cluster/cluster_page.h"

#include <string.h>

#include "base/mem.h"
#include "codec/json.h"
#include "kube/kube_path.h"

static const json_t *container_named(const json_t *pod, const char *name) {
        return json_find_at(name, json_at(pod, "spec", "containers", NULL), "name", NULL);
}

static bool has_label(const json_t *pod, const char *name) {
        return json_is_at(name, pod, "metadata", "labels", "app.kubernetes.io/name", NULL);
}

bool cluster_page_runs(const json_t *pod, const char *program) {
        bool is_extender = strcmp(program, PROGRAM_EXTENDER) == 0;

        return has_label(pod, program) || (is_extender && has_label(pod, "plimsoll-scheduler") &&
                                           container_named(pod, "extender"));
}

/* The container that runs @program: "controller" or "extender", as in deploy/, or else the first.
 */
static const json_t *container_of(const json_t *pod, const char *program) {
        const json_t *named = container_named(pod, program + strlen("plimsoll-"));

        return named ? named : json_array_get(json_at(pod, "spec", "containers", NULL), 0);
}

/* A probe has the number or the name of a port. Without a probe, it is the first port. */
static json_int_t port_of(const json_t *container, const json_t *probe, json_int_t fallback) {
        const json_t *ports = json_at(container, "ports", NULL), *port = json_array_get(ports, 0);
        const char *name = json_string_at(probe, "port", NULL);

        if (name)
                port = json_find_at(name, ports, "name", NULL);
        return json_int_at(json_int_at(fallback, port, "containerPort", NULL), probe, "port", NULL);
}

char *cluster_page_path(const char *namespace, const json_t *pod, const char *program,
                        const char *page) {
        const json_t *container = container_of(pod, program);
        const json_t *probe = json_at(container, "readinessProbe", "httpGet", NULL);
        const char *name = json_string_at(pod, "metadata", "name", NULL);
        bool is_controller = strcmp(program, PROGRAM_CONTROLLER) == 0;
        json_int_t port = port_of(container, probe,
                                  is_controller ? KUBE_PORT_CONTROLLER : KUBE_PORT_EXTENDER);

        if (!name || !cluster_page_runs(pod, program) ||
            !json_is_at("Running", pod, "status", "phase", NULL))
                return NULL;
        _cleanup_(freep) char *escaped = kube_escape(name);
        return xasprintf(KUBE_CORE "/namespaces/%s/pods/%s%s:%" JSON_INTEGER_FORMAT "/proxy/%s",
                         namespace, json_is_at("HTTPS", probe, "scheme", NULL) ? "https:" : "",
                         escaped, port, page);
}
