#include "cli/rebalance/rebalance_usage.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "codec/json.h"
#include "codec/quantity.h"
#include "kube/kube_path.h"
#include "policy/estimate/pod_load.h"

enum {
        AGE_MAX_MS = 2 * MS_PER_MIN, /* of a sample; metrics-server takes one every 15 s */
        MAX_BYTES = 128 << 20,       /* a pod has 500 bytes */
};

struct usage_listing {
        struct strmap *usage;
        int64_t now_unix_ms;
};

static bool is_recent(const json_t *item, int64_t now_unix_ms) {
        const char *text = json_string_at(item, "timestamp", NULL);
        int64_t at_unix_ms = 0;

        return text && timestamp_parse(text, strlen(text), &at_unix_ms) &&
               llabs(now_unix_ms - at_unix_ms) <= AGE_MAX_MS;
}

static void on_usage(void *userdata, const char *text, size_t len) {
        const struct usage_listing *listing = userdata;
        json_auto_t *item = NULL;
        const json_t *container;
        size_t i;

        if (json_parse(text, len, &item, NULL) < 0 || !is_recent(item, listing->now_unix_ms))
                return;
        const char *namespace = json_string_at(item, "metadata", "namespace", NULL);
        const char *name = json_string_at(item, "metadata", "name", NULL);
        if (!namespace || !name)
                return;
        _cleanup_(freep) char *key = xasprintf("%s/%s", namespace, name);
        struct pod_load *load = xcalloc(1, sizeof(*load));
        json_array_foreach (json_at(item, "containers", NULL), i, container) {
                const json_t *used = json_at(container, "usage", NULL);
                load->of[ESTIMATE_CPU] += quantity_at(used, "cpu");
                load->of[ESTIMATE_MEM] += quantity_at(used, "memory");
        }
        free(strmap_put(listing->usage, key, strlen(key), load));
}

void rebalance_usage_list(struct cluster *cluster, int64_t now_unix_ms, struct strmap *ret) {
        struct usage_listing listing = {ret, now_unix_ms};
        _cleanup_(cluster_answer_done) struct cluster_answer answer = {0};

        *ret = STRMAP_NULL;
        cluster_call(cluster,
                     &(struct kube_request){.method = "GET",
                                            .path = KUBE_METRICS "/pods",
                                            .wants_gzip = true,
                                            .max_body_bytes = MAX_BYTES},
                     &answer);
        if (answer.outcome == KUBE_OK)
                (void)!list_page_parse(answer.body, answer.body_bytes, NULL, on_usage, &listing,
                                       NULL, NULL);
}

void rebalance_usage_done(struct strmap *usage) {
        struct strmap_entry *entry;

        STRMAP_FOREACH (entry, usage)
                free(entry->value);
        strmap_done(usage);
}
