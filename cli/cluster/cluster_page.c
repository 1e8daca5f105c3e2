#include "cli/cluster/cluster_page.h"

#include <string.h>

#include "base/mem.h"
#include "codec/json.h"
#include "kube/kube_api.h"

static const json_t *program_of(const json_t *pod) {
        return json_array_get(json_at(pod, "spec", "containers", NULL), 0);
}

bool cluster_page_has_flag(const json_t *pod, const char *flag) {
        const json_t *args = json_at(program_of(pod), "args", NULL);

        for (size_t i = 0; i < json_array_size(args); i++) {
                const char *arg = json_string_value(json_array_get(args, i));
                if (arg && strncmp(arg, flag, strlen(flag)) == 0)
                        return true;
        }
        return false;
}

char *cluster_page_path(const char *name_space, const json_t *pod, int fallback_port,
                        const char *page) {
        const json_t *port = json_array_get(json_at(program_of(pod), "ports", NULL), 0);
        const char *name = json_string_at(pod, "metadata", "name", NULL);
        const char *phase = json_string_at(pod, "status", "phase", NULL);

        if (!name || !phase || strcmp(phase, "Running") != 0)
                return NULL;
        _cleanup_(freep) char *escaped = kube_escape(name);
        return xasprintf("/api/v1/namespaces/%s/pods/%s%s:%d/proxy/%s", name_space,
                         cluster_page_has_flag(pod, "--tls-cert-file") ? "https:" : "", escaped,
                         (int)json_int_at(fallback_port, port, "containerPort", NULL), page);
}
