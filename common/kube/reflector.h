/*
 * A reflector: list, then watch, and again list when the watch has been lost, so that its owner
 * sees every object's present state in the end and is told when it disappears.
 *
 * Memory is that of one page of the list (its text, and one object decoded) and one event.
 * Deletions that happened while no watch was open are found by comparing a relist with the names
 * and uids held. An object that was replaced by another of its name is deleted first.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "kube/kube_api.h"
#include "metrics/metrics.h"

struct reflector;

enum reflector_event {
        REFLECTOR_PRESENT,  /* the object is there: listed, or changed */
        REFLECTOR_APPEARED, /* it is there since now: the watch has seen it come */
        REFLECTOR_DELETED,  /* it is gone; @object is its last state, or only metadata.name,
                               .namespace and .uid when a relist found it missing */
};

/** on_event: @object is borrowed for the call. Objects without metadata.name never arrive. No
 * callback may free the reflector. */
typedef void reflector_event_fn(void *userdata, enum reflector_event event, const json_t *object);
/** on_synced: after every complete list (the first one and relists); @count objects are held */
typedef void reflector_synced_fn(void *userdata, size_t count);

/* All texts are borrowed and outlive the reflector. */
struct reflector_spec {
        const char *name;           /* for logs and metrics: "nodes" */
        const char *path;           /* "/api/v1/nodes" */
        const char *field_selector; /* unencoded; may be NULL */
        const char *label_selector; /* unencoded; may be NULL */
        bool metadata_only;         /* PartialObjectMetadata */
        size_t page_limit;          /* objects per list page; 0: 500 of metadata, 100 whole ones */
        size_t max_objects;         /* more are an error, said once; 0: 100,000 */
        int64_t first_pause_ms;     /* before trying again; doubled, up to 10 s of 800 ms; 0: 800 */
        int64_t watch_answer_ms;    /* for a watch's headers to come, else trouble; 0: 30 s */
        /* Asked before every list when not NULL: a wider selector for what came and went while
         * nobody watched (pods that are running already). Its objects arrive before those of the
         * list, are not held, and so are never reported as deleted unless the narrower list had
         * them too. */
        const char *initial_field_selector;
        reflector_event_fn *on_event;
        reflector_synced_fn *on_synced; /* may be NULL */
        void *userdata;
};

/** reflector_new() - starts at once */
struct reflector *reflector_new(struct loop *loop, struct kube_api *api, struct metrics *metrics,
                                const struct reflector_spec *spec);
void reflector_free(struct reflector *reflector);
DEFINE_FREEP(struct reflector, reflector_free);

bool reflector_is_synced(const struct reflector *reflector);

/**
 * reflector_trouble() - what keeps it from being current, for /readyz?verbose
 * Return: "" when the watch is open, else for example "list: 403 nodes is forbidden: ..."
 */
const char *reflector_trouble(const struct reflector *reflector);
