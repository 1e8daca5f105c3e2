/*
 * A reflector lists objects, watches them, and lists them again if the watch cannot be resumed. Its
 * owner eventually gets the current state of every object, and every deletion.
 *
 * It needs memory for one list page (its text and one decoded object) and one event. A relist is
 * compared with the known names and uids, to find objects that were deleted while no watch was
 * open. If an object was replaced by another one with the same name, its deletion is reported
 * first.
 *
 * An owner with its own table of very many objects, which should be neither decoded nor indexed
 * twice, gets them as text (on_text). It marks the objects that it gets between on_list_begin and
 * on_synced, and then deletes the others.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/proto_json.h"
#include "kube/kube_api.h"
#include "metrics/metrics.h"

struct reflector;

enum reflector_event {
        REFLECTOR_PRESENT,  /* the object exists: it was listed or modified */
        REFLECTOR_APPEARED, /* the watch reports that the object was added */
        REFLECTOR_DELETED,  /* it was deleted; @object is its last state, or only metadata.name,
                               .namespace and .uid if a relist did not have it */
};

/*
 * Objects are JSON. With a table of their kind (`proto`), the reflector requests protobuf, and
 * converts it to JSON with only the fields of the table. From a server that answers in JSON,
 * objects are complete.
 *
 * With such a table, on_event is not called for an object of which only the resourceVersion has
 * changed since the last call: for example, after a status report of a kubelet, or in a list that
 * was started again.
 */

/** on_event: @object is borrowed during the call, and has a metadata.name. No callback may free the
 * reflector. */
typedef void reflector_event_fn(void *userdata, enum reflector_event event, const json_t *object);
/**
 * on_text: like on_event, but without an index: all objects are delivered, and none is decoded
 *
 * APPEARED is the watch's ADDED. Deletions while no watch was open are not reported. @text is a
 * JSON object without a NUL, borrowed during the call; its content has not been checked.
 */
typedef void reflector_text_fn(void *userdata, enum reflector_event event, const char *text,
                               size_t len);
/** on_list_begin: a list begins: the first one, a relist, or another attempt after a failure */
typedef void reflector_list_begin_fn(void *userdata);
/** on_synced: a list is complete (the first one or a relist); @count objects exist */
typedef void reflector_synced_fn(void *userdata, size_t count);
/** on_trouble: reflector_trouble() has changed */
typedef void reflector_trouble_fn(void *userdata);

/* Texts are borrowed and outlive the reflector. */
struct reflector_spec {
        const char *name;           /* for logs and metrics, such as "nodes" */
        const char *path;           /* "/api/v1/nodes" */
        const char *field_selector; /* unencoded; may be NULL */
        const char *label_selector; /* unencoded; may be NULL */
        /* The fields to read of objects in protobuf (kube/kube_proto.h), including metadata.name,
         * .namespace, .uid and .resourceVersion; NULL: request JSON. */
        const struct proto_message *proto;
        size_t page_limit;      /* objects per list page; 0: 100 */
        size_t max_objects;     /* others are ignored, which is logged once; 0: 100,000 */
        int64_t first_pause_ms; /* of the backoff, with 12.5 times that as maximum; 0: 800 */
        /* A wider selector for lists, for objects that no longer match because they changed while
         * no watch was open (pods that are already running); NULL: field_selector. Only with
         * on_text. */
        const char *list_field_selector;
        reflector_event_fn *on_event;           /* either this or on_text */
        reflector_text_fn *on_text;             /* without max_objects */
        reflector_list_begin_fn *on_list_begin; /* may be NULL */
        reflector_synced_fn *on_synced;         /* may be NULL */
        reflector_trouble_fn *on_trouble;       /* may be NULL */
        void *userdata;
};

/** reflector_new() - start at once */
struct reflector *reflector_new(struct loop *loop, struct kube_api *api, struct metrics *metrics,
                                const struct reflector_spec *spec);
void reflector_free(struct reflector *reflector);

bool reflector_is_synced(const struct reflector *reflector);

/** reflector_is_awaited() - whether the first list may complete at any time: it has not completed
 * yet, and its last attempt was not refused (403, 404) */
bool reflector_is_awaited(const struct reflector *reflector);

/**
 * reflector_trouble() - the current error, for /readyz?verbose
 * Return: "" if the watch is open, else for example "list: 403 nodes is forbidden: ..."
 */
const char *reflector_trouble(const struct reflector *reflector);
