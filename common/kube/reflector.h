/*
 * A reflector: list, then watch, and relist when the watch cannot be resumed, so that its owner
 * eventually sees the current state of every object, and every deletion.
 *
 * Needs memory for one list page (its text and one decoded object) and one event. Deletions that
 * happened while no watch was open are found by comparing a relist with the known names and uids.
 * When an object was replaced by another one of the same name, its deletion is reported first.
 *
 * An owner with a table of its own, of objects so many that neither decoding nor indexing them
 * twice will do, takes them as text instead (on_text): it marks what it is shown between
 * on_list_begin and on_synced, and then sweeps the rest.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "codec/proto_json.h"
#include "kube/kube_api.h"
#include "metrics/metrics.h"

struct reflector;

enum reflector_event {
        REFLECTOR_PRESENT,  /* the object exists: it was listed or modified */
        REFLECTOR_APPEARED, /* the object was added, as seen by the watch */
        REFLECTOR_DELETED,  /* it was deleted; @object is its last state, or only metadata.name,
                               .namespace and .uid when a relist found it missing */
};

/*
 * Objects are JSON. With a table of their kind (`proto`) the reflector asks for protobuf, and what
 * arrives in it is handed on as JSON that holds only the fields of the table. A server
 * that answers in JSON is as good: then objects are whole.
 *
 * With such a table on_event is not called for an object of which only the resourceVersion has
 * changed since the last call: a Node whose kubelet has reported, a list that is begun anew.
 */

/** on_event: @object is borrowed for the call. Objects without metadata.name never arrive. No
 * callback may free the reflector. */
typedef void reflector_event_fn(void *userdata, enum reflector_event event, const json_t *object);
/**
 * on_text: the same without an index: no object is decoded, none is held back
 *
 * APPEARED is what the watch calls ADDED. Deletions that happened while no watch was open are not
 * reported. @text is a JSON object, without a NUL, borrowed for the call; what is in it nobody has
 * looked at.
 */
typedef void reflector_text_fn(void *userdata, enum reflector_event event, const char *text,
                               size_t len);
/** on_list_begin: a list begins, the first one or a relist, or one anew after a failure */
typedef void reflector_list_begin_fn(void *userdata);
/** on_synced: after every complete list (the first one and relists); @count objects exist */
typedef void reflector_synced_fn(void *userdata, size_t count);
/** on_trouble: reflector_trouble() has another text */
typedef void reflector_trouble_fn(void *userdata);

/* All texts are borrowed and outlive the reflector. */
struct reflector_spec {
        const char *name;           /* for logs and metrics: "nodes" */
        const char *path;           /* "/api/v1/nodes" */
        const char *field_selector; /* unencoded; may be NULL */
        const char *label_selector; /* unencoded; may be NULL */
        bool metadata_only;         /* PartialObjectMetadata */
        /* What is read of objects in protobuf (kube/kube_proto.h), metadata.name, .namespace, .uid
         * and .resourceVersion among it; NULL: JSON. */
        const struct proto_message *proto;
        size_t page_limit;       /* objects per list page; 0: 500 of metadata, 100 whole ones */
        size_t max_objects;      /* more are ignored, logged once; 0: 100,000 */
        int64_t first_pause_ms;  /* of the backoff, whose maximum is 12.5 times that; 0: 800 */
        int64_t watch_answer_ms; /* timeout for a watch's response headers; 0: 30 s */
        /* When not NULL, lists have this wider selector, for objects that stopped matching while no
         * watch was open (pods that are already running). Only with on_text. */
        const char *list_field_selector;
        reflector_event_fn *on_event;           /* this one or the next */
        reflector_text_fn *on_text;             /* without max_objects */
        reflector_list_begin_fn *on_list_begin; /* may be NULL */
        reflector_synced_fn *on_synced;         /* may be NULL */
        reflector_trouble_fn *on_trouble;       /* may be NULL */
        void *userdata;
};

/** reflector_new() - starts at once */
struct reflector *reflector_new(struct loop *loop, struct kube_api *api, struct metrics *metrics,
                                const struct reflector_spec *spec);
void reflector_free(struct reflector *reflector);
DEFINE_FREEP(struct reflector, reflector_free);

/**
 * reflector_list_again() - list at once, and show all objects again, the unchanged ones too
 * @metadata_only: as in the spec, from now on
 *
 * Those that are not in the list are reported as deleted, as after any relist. Until it is complete
 * the reflector is not synced. Not to be called from its callbacks.
 */
void reflector_list_again(struct reflector *reflector, bool metadata_only);

bool reflector_is_synced(const struct reflector *reflector);

/** reflector_is_awaited() - the first list is not complete, and it was not refused (403, 404) when
 * it was last asked for: it may come at any time */
bool reflector_is_awaited(const struct reflector *reflector);

/**
 * reflector_progress_mono_ms() - when a list last got further than any before it since the start or
 * reflector_list_again()
 *
 * A large list may take long; one that is begun again and again gets no further.
 */
int64_t reflector_progress_mono_ms(const struct reflector *reflector);

/**
 * reflector_trouble() - the present error, for /readyz?verbose
 * Return: "" when the watch is open, else for example "list: 403 nodes is forbidden: ..."
 */
const char *reflector_trouble(const struct reflector *reflector);
