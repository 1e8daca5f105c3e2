/*
 * Any JSON may come as a Node, several in a row: the set stays whole, an address that it keeps is
 * fit to be a host, and annotations of any kind leave values that are usable or none.
 */
#include <jansson.h>
#include <string.h>

#include "codec/json.h"
#include "controller/node/node_set.h"
#include "controller/track/node_track.h"
#include "fuzz.h"

struct world {
        struct compiled_policy *compiled;
        size_t live;
};

static const int64_t now_mono_ms = 1000000, now_unix_ms = INT64_C(1784805954000);

static void on_added(void *userdata, struct node *node) {
        struct world *world = userdata;
        struct node_track *track = calloc(1, sizeof(*track));

        require(track != NULL);
        node_track_init(track, world->compiled, now_mono_ms);
        node->userdata = track;
        world->live++;
}

static void on_moved(void *userdata, struct node *node) {
        (void)userdata;
        require(node->name[0] != '\0');
}

static void on_seen(void *userdata, struct node *node, const json_t *object) {
        (void)userdata;
        node_track_annotations(node->userdata, json_at(object, "metadata", "annotations", NULL),
                               now_mono_ms, now_unix_ms);
}

static void end_track(struct world *world, struct node *node) {
        struct node_track *track = node->userdata;
        struct window_step step = {.at_mono_ms = now_mono_ms + 1, .counters = 1};
        struct plan_values values;

        for (int i = 0; i < 2; i++) {
                step.num[0] = 1;
                step.den[0] = 10;
                step.at_mono_ms += 15000;
                node_track_reading(track, 0, &(struct source_reading){.step = &step},
                                   step.at_mono_ms);
        }
        node_track_values(track, step.at_mono_ms, &values);
        for (size_t i = 0; i < world->compiled->policy->metric_count; i++)
                if (values.usable & (UINT64_C(1) << i))
                        require(values.ratio[i] >= 0 && values.ratio[i] <= 1);
        node_track_done(track);
        free(track);
        world->live--;
}

static void on_removed(void *userdata, struct node *node) {
        end_track(userdata, node);
}

/* Input: JSON texts, one a line; those that begin with a minus are deletions. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static struct compiled_policy *compiled; /* costly, and never changed */
        struct node_set_options options;
        struct error err = ERROR_NULL;

        if (!compiled)
                compiled = compiled_policy_new(
                        policy_default(),
                        &(struct compiled_policy_options){.style = {.prefix = ""},
                                                          .sources = {{.interval_ms = 15000}},
                                                          .source_count = 1});
        struct world world = {.compiled = compiled};
        require(node_set_address_types("InternalIP,Hostname", &options, &err) == 0);
        struct node_set *set = node_set_new(&options, &(struct node_set_events){
                                                              .on_added = on_added,
                                                              .on_moved = on_moved,
                                                              .on_seen = on_seen,
                                                              .on_removed = on_removed,
                                                              .userdata = &world,
                                                      });
        const char *at = (const char *)data, *end = at + size;
        while (at < end) {
                const char *line_end = memchr(at, '\n', (size_t)(end - at));
                line_end = line_end ? line_end : end;
                enum reflector_event event = *at == '-' ? REFLECTOR_DELETED : REFLECTOR_PRESENT;
                at += *at == '-';
                json_t *object = json_loadb(at, (size_t)(line_end - at), 0, NULL);
                if (object)
                        node_set_apply(set, event, object);
                json_decref(object);
                at = line_end < end ? line_end + 1 : end;
        }
        require(world.live == node_set_count(set));
        for (size_t i = 0; i < set->slot_count; i++) {
                struct node *node = set->slots[i];
                if (!node)
                        continue;
                require(node->slot == i && node_set_get(set, node->name) == node);
                if (node->address)
                        require(node->address[0] != '\0' &&
                                strcspn(node->address, "/?#@[]% \r\n\"") == strlen(node->address));
                end_track(&world, node);
        }
        node_set_free(set);
        return 0;
}
