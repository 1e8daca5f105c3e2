/* A load in both texts: "<cores>/<memory>". Private to this folder. */
#pragma once

#include <errno.h>
#include <string.h>

#include "base/number.h"
#include "policy/usage/workload_usage.h"

/* @unit_bytes: of memory */
static inline int usage_load_parse(const char *text, size_t len, double unit_bytes,
                                   struct pod_load *ret, struct error *err) {
        const char *slash = memchr(text, '/', len);
        struct pod_load load;

        if (!slash || !number_parse(text, (size_t)(slash - text), &load.of[ESTIMATE_CPU]) ||
            !number_parse(slash + 1, (size_t)(text + len - slash - 1), &load.of[ESTIMATE_MEM]))
                return error_set(err, EINVAL, "\"%.*s\" is not <cores>/<memory>", (int)len, text);
        load.of[ESTIMATE_MEM] *= unit_bytes;
        if (!(load.of[ESTIMATE_CPU] >= 0 && load.of[ESTIMATE_CPU] <= USAGE_CORES_MAX &&
              load.of[ESTIMATE_MEM] >= 0 && load.of[ESTIMATE_MEM] <= USAGE_BYTES_MAX))
                return error_set(err, ERANGE, "\"%.*s\" is negative or too large", (int)len, text);
        *ret = load;
        return 0;
}
