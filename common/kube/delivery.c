#include "kube/delivery.h"

#include "base/log.h"
#include "codec/json.h"

enum { DEFAULT_MAX_OBJECTS = 100000 };

static struct metrics_series *event_counter(struct metrics *metrics, const char *resource,
                                            const char *type) {
        return metrics_counter(metrics, "plimsoll_watch_events_total",
                               "Watch events by type; ignored: unusable objects.",
                               LABELS("resource", resource, "type", type));
}

static void register_watch_metrics(struct delivery *delivery, struct metrics *metrics) {
        const char *resource = delivery->spec->name;

        for (enum watch_event_type type = 0; type < WATCH_EVENT_TYPE_COUNT; type++)
                delivery->events[type] = event_counter(metrics, resource,
                                                       watch_event_type_name(type));
        delivery->ignored = event_counter(metrics, resource, "ignored");
        delivery->objects = metrics_gauge(metrics, "plimsoll_objects",
                                          "Objects known from list and watch.",
                                          LABELS("resource", resource));
}

void delivery_init(struct delivery *delivery, const struct reflector_spec *spec,
                   struct metrics *metrics) {
        *delivery = (struct delivery){.spec = spec};
        delivery->index.max_objects = spec->max_objects ? spec->max_objects : DEFAULT_MAX_OBJECTS;
        register_watch_metrics(delivery, metrics);
}

void delivery_done(struct delivery *delivery) {
        object_index_done(&delivery->index);
}

size_t delivery_count(struct delivery *delivery) {
        size_t objects = delivery->spec->on_text ? delivery->text_count
                                                 : delivery->index.entries.len;

        metrics_set(delivery->objects, (double)objects);
        return objects;
}

/* List and watch deliver only JSON, but jansson does not support all of it. */
static json_t *decode_object(struct delivery *delivery, const char *text, size_t len) {
        json_t *object = NULL;

        if (json_parse(text, len, &object, NULL) < 0)
                metrics_inc(delivery->ignored);
        return object;
}

static void report_limit(struct delivery *delivery) {
        if (!delivery->is_over_limit)
                log_error(MSG("object limit reached, ignoring further objects"),
                          STR("resource", delivery->spec->name),
                          INT("max", delivery->index.max_objects));
        delivery->is_over_limit = true;
}

static void deliver_object(struct delivery *delivery, const char *text, size_t len) {
        json_auto_t *old = NULL;
        bool is_new = false;

        switch (object_index_see(&delivery->index, text, len, &old)) {
        case OBJECT_SAME: /* most changes of nodes are in fields that the table omits */
                if (delivery->spec->proto)
                        return;
                break;
        case OBJECT_KNOWN:
                break;
        case OBJECT_REPLACED:
                delivery->spec->on_event(delivery->spec->userdata, REFLECTOR_DELETED, old);
                is_new = true;
                break;
        case OBJECT_NEW:
                is_new = true;
                break;
        case OBJECT_OVER_LIMIT:
                report_limit(delivery);
                metrics_inc(delivery->ignored);
                return;
        case OBJECT_UNUSABLE:
                metrics_inc(delivery->ignored);
                return;
        }
        json_auto_t *object = decode_object(delivery, text, len);
        if (object)
                delivery->spec->on_event(delivery->spec->userdata,
                                         is_new && !delivery->is_listing ? REFLECTOR_APPEARED
                                                                         : REFLECTOR_PRESENT,
                                         object);
        else if (is_new)
                (void)object_index_remove(&delivery->index, text, len);
}

static void deliver_deletion(struct delivery *delivery, const char *text, size_t len) {
        json_auto_t *object = decode_object(delivery, text, len);

        if (object && object_index_remove(&delivery->index, text, len))
                delivery->spec->on_event(delivery->spec->userdata, REFLECTOR_DELETED, object);
        else if (object)
                metrics_inc(delivery->ignored);
}

static void deliver_text(struct delivery *delivery, enum reflector_event event, const char *text,
                         size_t len) {
        if (event == REFLECTOR_DELETED)
                delivery->text_count -= delivery->text_count > 0;
        else
                delivery->text_count += delivery->is_listing || event == REFLECTOR_APPEARED;
        delivery->spec->on_text(delivery->spec->userdata, event, text, len);
}

void delivery_put(struct delivery *delivery, enum reflector_event event, const char *text,
                  size_t len) {
        if (delivery->spec->on_text)
                deliver_text(delivery, event, text, len);
        else if (event == REFLECTOR_DELETED)
                deliver_deletion(delivery, text, len);
        else
                deliver_object(delivery, text, len);
}

void delivery_begin_list(struct delivery *delivery) {
        delivery->index.generation++;
        delivery->is_listing = true;
        delivery->text_count = 0;
        if (delivery->spec->on_list_begin)
                delivery->spec->on_list_begin(delivery->spec->userdata);
}

void delivery_end_list(struct delivery *delivery) {
        size_t position = 0;

        delivery->is_listing = false;
        for (json_t *gone; (gone = object_index_sweep(&delivery->index, &position)) != NULL;) {
                delivery->spec->on_event(delivery->spec->userdata, REFLECTOR_DELETED, gone);
                json_decref(gone);
        }
}
