#include "controller/node/bindings.h"

#include <string.h>

#include "base/mem.h"
#include "base/strmap.h"
#include "controller/node/node_set.h"

struct bindings {
        struct strmap rings; /* node's name -> struct binding_ring */
        int64_t keep_ms;
        struct loop *loop; /* of the watch */
        struct binding_watch *watch;
};

struct bindings *bindings_new(void) {
        struct bindings *bindings = xcalloc(1, sizeof(*bindings));

        bindings->keep_ms = BINDINGS_KEEP_MIN_MS;
        return bindings;
}

static void ring_free(struct binding_ring *ring) {
        binding_ring_done(ring);
        free(ring);
}

static void forget_rings(struct bindings *bindings) {
        struct strmap_entry *entry;

        STRMAP_FOREACH (entry, &bindings->rings)
                ring_free(entry->value);
        strmap_done(&bindings->rings);
}

void bindings_free(struct bindings *bindings) {
        binding_watch_free(bindings->watch);
        forget_rings(bindings);
        free(bindings);
}

void bindings_add(struct bindings *bindings, const char *node, int64_t at_unix_ms,
                  int64_t now_unix_ms) {
        struct binding_ring *ring = strmap_get(&bindings->rings, node, strlen(node));

        if (!ring) {
                if (bindings->rings.len >= NODE_SET_MAX)
                        return;
                ring = xcalloc(1, sizeof(*ring));
                strmap_put(&bindings->rings, node, strlen(node), ring);
        }
        binding_ring_settle(ring, now_unix_ms);
        binding_ring_add(ring, at_unix_ms, bindings->keep_ms);
}

static void on_binding_seen(void *userdata, const char *node, int64_t at_unix_ms) {
        struct bindings *bindings = userdata;

        bindings_add(bindings, node, at_unix_ms, loop_now_unix_ms(bindings->loop));
}

void bindings_follow(struct bindings *bindings, const struct policy *policy, struct loop *loop,
                     struct kube_api *api, struct metrics *metrics) {
        int64_t keep_ms = hot_value_keep_ms(policy), before_ms = bindings->keep_ms;

        bindings->keep_ms = keep_ms > BINDINGS_KEEP_MIN_MS ? keep_ms : BINDINGS_KEEP_MIN_MS;
        if (bindings->watch && bindings->keep_ms > before_ms) {
                forget_rings(bindings); /* older bindings were not counted */
                binding_watch_free(TAKE_PTR(bindings->watch));
        }
        if (policy->hot_value_count == 0 || !api || bindings->watch)
                return;
        bindings->loop = loop;
        bindings->watch = binding_watch_new(loop, api, metrics, bindings->keep_ms, on_binding_seen,
                                            bindings);
}

const struct reflector *bindings_reflector(const struct bindings *bindings) {
        return bindings->watch ? binding_watch_reflector(bindings->watch) : NULL;
}

bool bindings_is_counting(const struct bindings *bindings) {
        return bindings->watch && binding_watch_is_live(bindings->watch);
}

void bindings_forget(struct bindings *bindings, const char *node) {
        struct binding_ring *ring = strmap_remove(&bindings->rings, node, strlen(node));

        if (ring)
                ring_free(ring);
}

int64_t bindings_hot(struct bindings *bindings, const struct policy *policy, const char *node,
                     int64_t now_unix_ms) {
        struct binding_ring *ring = strmap_get(&bindings->rings, node, strlen(node));

        if (!ring)
                return 0;
        binding_ring_settle(ring, now_unix_ms);
        return hot_value(policy, ring, now_unix_ms);
}

void bindings_prune(struct bindings *bindings, int64_t now_unix_ms) {
        struct strmap_entry *entry;

        STRMAP_FOREACH (entry, &bindings->rings) {
                struct binding_ring *ring = entry->value;
                binding_ring_settle(ring, now_unix_ms);
                if (binding_ring_count(ring, now_unix_ms, bindings->keep_ms) > 0)
                        continue;
                strmap_remove(&bindings->rings, entry->key, entry->key_len);
                ring_free(ring);
        }
}

size_t bindings_nodes(const struct bindings *bindings) {
        return bindings->rings.len;
}
