#include "cli/nodes/pod_feed.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "kube/kube_path.h"
#include "kube/kube_proto.h"

/* Selects the same pods as the watch. */
#define PODS_PATH                                                                                  \
        KUBE_PODS "?fieldSelector=spec.nodeName!%3D%2Cstatus.phase!%3DSucceeded%2C"                \
                  "status.phase!%3DFailed"

enum { LOOK_MS = 20 };

struct pod_feed {
        struct cluster *cluster;
        bool is_watching;
        const struct pod_watch_events *events;
        void *userdata;
        struct pod_watch *watch; /* NULL: not begun */
};

struct pod_feed *pod_feed_new(struct cluster *cluster, bool is_watching,
                              const struct pod_watch_events *events, void *userdata) {
        struct pod_feed *feed = xcalloc(1, sizeof(*feed));

        *feed = (struct pod_feed){cluster, is_watching, events, userdata, NULL};
        return feed;
}

void pod_feed_free(struct pod_feed *feed) {
        if (!feed)
                return;
        pod_watch_free(feed->watch);
        free(feed);
}

static void pod_feed_on_begin(void *userdata) {
        const struct pod_feed *feed = userdata;

        feed->events->list_begins(feed->userdata);
}

static void pod_feed_on_item(void *userdata, const char *text, size_t len) {
        const struct pod_feed *feed = userdata;
        struct pod_facts facts;

        /* Only bound pods are selected, but a proxy may ignore the selector. */
        if (pod_facts_skim(&facts, text, len) && facts.id != 0 && facts.node.len > 0 &&
            !facts.is_finished)
                feed->events->pod(feed->userdata, &facts, false);
}

static int pod_feed_list(struct pod_feed *feed, struct error *err) {
        const struct cluster_listing listing = {
                .path = PODS_PATH,
                .accept = KUBE_ACCEPT_PROTO,
                .proto = &kube_proto_pod,
                .on_begin = pod_feed_on_begin,
                .on_item = pod_feed_on_item,
                .userdata = feed,
        };

        if (cluster_list(feed->cluster, &listing, err) != KUBE_OK)
                return err->code;
        if (feed->events->list_ended)
                feed->events->list_ended(feed->userdata);
        return 0;
}

static int pod_feed_watch(struct pod_feed *feed, struct error *err) {
        struct cluster *cluster = feed->cluster;
        bool is_new = !feed->watch;

        if (is_new)
                feed->watch = pod_watch_new(cluster_loop(cluster), cluster_api(cluster),
                                            cluster_metrics(cluster), POD_WATCH_ALL, feed->events,
                                            feed->userdata);
        const struct reflector *reflector = pod_watch_reflector(feed->watch);
        _cleanup_(freep) char *trouble = xstrdup(reflector_trouble(reflector));
        while (is_new && !reflector_is_synced(reflector) &&
               strcmp(trouble, reflector_trouble(reflector)) == 0)
                cluster_pause(cluster, LOOK_MS);
        if (reflector_trouble(reflector)[0] == '\0')
                return 0;
        return error_set(err, EIO, "pods: %s", reflector_trouble(reflector));
}

int pod_feed_update(struct pod_feed *feed, struct error *err) {
        return feed->is_watching ? pod_feed_watch(feed, err) : pod_feed_list(feed, err);
}
