#include "cli/cluster/cluster_page.h"

#include <string.h>

#include "base/mem.h"
#include "cli/cluster/program_flags.h"
#include "codec/json.h"
#include "kube/kube_path.h"

bool cluster_page_is_mutual(const json_t *pod) {
        _cleanup_(program_flags_done) struct program_flags flags = {0};

        program_flags_read(json_at(pod, "spec", NULL), PROGRAM_EXTENDER, NULL, NULL, &flags);
        return program_flags_text(&flags, FLAG_CLIENT_CA_FILE) != NULL;
}

/* The port of the program's flags, or else the one that the container declares. */
static int port_of(const json_t *spec, const char *program, const struct program_flags *flags) {
        bool is_controller = strcmp(program, PROGRAM_CONTROLLER) == 0;
        const json_t *ports = json_at(program_flags_container(spec, program), "ports", NULL);
        long long declared = json_int_at(is_controller ? KUBE_PORT_CONTROLLER : KUBE_PORT_EXTENDER,
                                         json_array_get(ports, 0), "containerPort", NULL);

        return (int)program_flags_int(flags, is_controller ? FLAG_HEALTH_PORT : FLAG_PORT,
                                      declared);
}

char *cluster_page_path(const char *namespace, const json_t *pod, const char *program,
                        const char *page) {
        _cleanup_(program_flags_done) struct program_flags flags = {0};
        const json_t *spec = json_at(pod, "spec", NULL);
        const char *name = json_string_at(pod, "metadata", "name", NULL);

        if (!name || !json_is_at("Running", pod, "status", "phase", NULL))
                return NULL;
        program_flags_read(spec, program, namespace, NULL, &flags);
        _cleanup_(freep) char *escaped = kube_escape(name);
        return xasprintf(KUBE_CORE "/namespaces/%s/pods/%s%s:%d/proxy/%s", namespace,
                         program_flags_text(&flags, FLAG_TLS_CERT_FILE) ? "https:" : "", escaped,
                         port_of(spec, program, &flags), page);
}
