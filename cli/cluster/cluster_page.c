#include "cli/cluster/cluster_page.h"

#include <string.h>

#include "base/mem.h"
#include "codec/json.h"
#include "kube/kube_path.h"

bool cluster_page_runs(const json_t *pod, const char *program) {
        return json_is_at(program, pod, "metadata", "labels", "app.kubernetes.io/name", NULL);
}

const json_t *cluster_page_container(const json_t *spec, const char *program) {
        const json_t *containers = json_at(spec, "containers", NULL);
        const json_t *named = json_find_at(program + strlen("plimsoll-"), containers, "name", NULL);

        return named ? named : json_array_get(containers, 0);
}

/* A probe has the number or the name of a port. */
static int port_of(const json_t *container, const json_t *probe) {
        const json_t *ports = json_at(container, "ports", NULL), *port = json_array_get(ports, 0);
        const char *name = json_string_at(probe, "port", NULL);

        if (name)
                port = json_find_at(name, ports, "name", NULL);
        return (int)json_int_at(json_int_at(0, port, "containerPort", NULL), probe, "port", NULL);
}

struct cluster_place cluster_page_place(const json_t *spec, const char *program) {
        const json_t *container = cluster_page_container(spec, program);
        const json_t *probe = json_at(container, "readinessProbe", "httpGet", NULL);

        return (struct cluster_place){
                .port = port_of(container, probe),
                .is_tls = json_is_at("HTTPS", probe, "scheme", NULL),
        };
}

char *cluster_page_path(const char *namespace, const json_t *pod, const char *program,
                        const char *page) {
        const json_t *spec = json_at(pod, "spec", NULL);
        const struct cluster_place place = cluster_page_place(spec, program);
        const char *name = json_string_at(pod, "metadata", "name", NULL);
        bool is_controller = strcmp(program, PROGRAM_CONTROLLER) == 0;
        int default_port = is_controller ? KUBE_PORT_CONTROLLER : KUBE_PORT_EXTENDER;

        if (!name || !cluster_page_runs(pod, program) ||
            !json_is_at("Running", pod, "status", "phase", NULL))
                return NULL;
        _cleanup_(freep) char *escaped = kube_escape(name);
        return xasprintf(KUBE_CORE "/namespaces/%s/pods/%s%s:%d/proxy/%s", namespace,
                         place.is_tls ? "https:" : "", escaped,
                         place.port ? place.port : default_port, page);
}
