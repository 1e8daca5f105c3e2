/* A name that is a query has its parts written in it, and nothing else. */
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(freep) char *name = xmemdup0((const char *)data, size);
        static const struct policy no_resources;
        struct metric_query query = {.window_ms = -1};

        if (!policy_query_parse(&no_resources, name, &query)) {
                require(query.window_ms == -1); /* untouched */
                (void)metric_name_is_valid(name);
                return 0;
        }
        const char *resource = metric_resource_rows[query.resource].name;
        require(strncmp(name, resource, strlen(resource)) == 0);
        require(strncmp(name + strlen(resource), "_usage_", strlen("_usage_")) == 0);
        require(query.window_ms > 0);
        /* Only its length can keep it from being an annotation's key. */
        require(metric_name_is_valid(name) == (strlen(name) <= METRIC_NAME_MAX));
        return 0;
}
