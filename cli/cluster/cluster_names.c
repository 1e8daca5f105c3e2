#include "cli/cluster/cluster.h"

#include <string.h>

#include "base/mem.h"
#include "codec/json.h"

enum { NAMES_LIMIT = 500 };

/* Only names that Kubernetes allows, since a shell splits the line into words. */
static void offer_name(const json_t *item, const char *before, const char *typed, FILE *out) {
        const char *name = json_string_at(item, "metadata", "name", NULL);
        size_t skip = strlen(before);

        if (name && name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.")] == '\0' &&
            strncmp(name, typed + skip, strlen(typed + skip)) == 0)
                (void)fprintf(out, "%s%s\n", before, name);
}

void cluster_offer_names(struct cluster *cluster, const char *path, const char *before,
                         const char *typed, FILE *out) {
        _cleanup_(cluster_answer_done) struct cluster_answer answer = {0};
        _cleanup_(freep) char *url = xasprintf("%s?limit=%d", path, NAMES_LIMIT);
        json_auto_t *list = NULL;
        const json_t *item;
        size_t i;

        cluster_call(cluster,
                     &(struct kube_request){
                             .method = "GET", .path = url, .accept = KUBE_ACCEPT_METADATA_LIST},
                     &answer);
        if (answer.outcome != KUBE_OK ||
            json_parse(answer.body, answer.body_bytes, &list, NULL) < 0)
                return;
        json_array_foreach (json_at(list, "items", NULL), i, item)
                offer_name(item, before, typed, out);
}
